"""The interface of search algorithms, which translate sources; greedy search and sampling."""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from ablate import process
from ablate.config.limits import Range
from ablate.data import BOS, EOS, PAD, UNK


@runtime_checkable
class Model(Protocol):
    """A model that decodes step by step, such as `ablate.model.Model`."""

    def start(self, src: Int[Tensor, "B S"], beams: int) -> Any:
        """Return the decoding cache, with `beams` rows for each source.

        Its method `reorder(rows)` replaces the state of row i by that of row `rows[i]` of the same
        source, and `keep(sentences)` drops the rows of all other sources.
        """

    def step(self, tokens: Int[Tensor, " R"], cache: Any) -> Float[Tensor, "R D"]:
        """Return, for each row, the hidden state that predicts the row's next token.

        `tokens` has the newest token of each row. The cache stores the token for later steps.
        """

    if TYPE_CHECKING:  # from Python 3.12 on, isinstance does not see the submodules of a module

        @property
        def head(self) -> Any:
            """The output layer, which maps hidden states to logits."""


# larger values bring no improvement, and may exceed the memory
MaxRatio = Annotated[int | float, Range(0, 1_000)]
MaxExtra = Annotated[int, Range(0, 100_000)]
EVERY = 8  # tokens between two reads of the device


class Search(ABC):
    """An algorithm that chooses a translation for each source.

    A translation is a list of token ids without PAD, BOS and EOS. For a source of n tokens it has
    at most `max_ratio` * n + `max_extra` tokens, where neither number counts EOS. A translation
    depends only on its source, not on other sentences of the batch or their order (except if
    rounding decides between equally good hypotheses). The caller sets `model.eval()`.
    """

    # of the latest call: number of sequential decoder passes per sentence; None if not counted
    steps: Int[Tensor, " B"] | None = None

    def __init__(self, max_ratio: MaxRatio, max_extra: MaxExtra) -> None:
        self.max_ratio = max_ratio
        self.max_extra = max_extra

    @abstractmethod
    def __call__(self, model: Model, src: Int[Tensor, "B S"]) -> list[list[int]]:
        """Return a translation of each source, in the order of the batch; B may be 0."""

    def limits(self, src: Int[Tensor, "B S"]) -> Int[Tensor, " B"]:
        """Return the largest allowed number of tokens in the translation of each sentence."""
        real: Bool[Tensor, "B S"] = (src != PAD) & (src != EOS)
        return (self.max_ratio * real.sum(1) + self.max_extra).long()


def until_eos(ids: Int[Tensor, "B T"], limits: Int[Tensor, " B"]) -> list[list[int]]:
    """Return the ids of each row up to its first EOS, and at most as many as its limit."""
    rows = [row[:limit] for row, limit in zip(ids.tolist(), limits.tolist(), strict=True)]
    return [row[: row.index(EOS)] if EOS in row else row for row in rows]


def reads_device(length: int, device: torch.device) -> bool:
    """Return whether a search reads after `length` tokens which sentences have ended.

    On a GPU, a read waits for the device. There, some steps too many take less time.
    """
    return process.uses_cpu_path(device) or length % EVERY == 0


def worth_dropping(n_live: int, n_rows: int) -> bool:
    """Return whether so many sentences have ended that dropping their rows would save time.

    `n_live` is the number of unfinished sentences, and `n_rows` the number of all sentences in the
    batch. Dropping copies the rows of the unfinished sentences.
    """
    return n_live <= 0.875 * n_rows


BLOCK = 64


def largest(
    values: Float[Tensor, "R V"], k: int
) -> tuple[Float[Tensor, "R k"], Int[Tensor, "R k"]]:
    """Return the k largest entries of each row and their columns, the largest entry first.

    The result is that of `values.topk(k)`, but three times faster on a CPU for rows of several
    thousand entries. A row is divided into blocks. Only the k blocks with the largest maxima are
    searched, and the entries after the last whole block.
    """
    n_blocks = values.size(1) // BLOCK
    if n_blocks < 2 * k:
        top, column = values.topk(k)
        return top, column
    whole = n_blocks * BLOCK
    blocks = values[:, :whole].view(-1, n_blocks, BLOCK)
    chosen = blocks.amax(-1).topk(k).indices
    inside = blocks.gather(1, chosen[:, :, None].expand(-1, -1, BLOCK)).flatten(1)
    top, at = torch.cat([inside, values[:, whole:]], 1).topk(k)
    column = chosen.gather(1, (at // BLOCK).clamp(max=k - 1)) * BLOCK + at % BLOCK
    return top, torch.where(at < k * BLOCK, column, whole + at - k * BLOCK)


class Greedy(Search):
    """Greedy search: choose the most likely next token at every step.

    Greedy search: the most likely next token at every step.

    Equation: y_t = argmax over v of p(v | y_1 .. y_{t-1}, source), until EOS or the length limit.
    Source: standard decoding, e.g. arXiv:1409.3215, section 3.2, with beam size 1.
    What differs: PAD and BOS cannot be chosen.
    What to expect: about one BLEU point less than beam search, in a fraction of the time.
        Validation uses greedy search.
    """

    @torch.inference_mode()
    def __call__(self, model: Model, src: Int[Tensor, "B S"]) -> list[list[int]]:
        """Return a translation of each source, in the order of the batch; B may be 0."""
        if not len(src):
            return []
        limits = self.limits(src)
        tokens_so_far = src.new_full((len(src), int(limits.max())), EOS)
        self.steps = torch.zeros_like(limits)
        state = model.start(src, beams=1)
        sentence = torch.arange(len(src), device=src.device)
        tokens = torch.full_like(sentence, BOS)
        live = torch.ones_like(sentence, dtype=torch.bool)
        for length in range(1, tokens_so_far.size(1) + 1):
            self.steps[sentence] += live
            logits = model.head(model.step(tokens, state))
            # EOS is the first id that may be chosen
            tokens = largest(logits[:, EOS:], 1)[1][:, 0] + EOS
            tokens_so_far[sentence, length - 1] = tokens  # tokens after EOS are cut off below
            live &= (tokens != EOS) & (limits[sentence] > length)
            if not reads_device(length, src.device):
                continue
            n_live = int(live.sum())
            if not n_live:
                break
            if worth_dropping(n_live, len(live)):
                kept = live.nonzero()[:, 0]
                state.keep(kept)
                sentence, tokens, live = sentence[kept], tokens[kept], live[kept]
        return until_eos(tokens_so_far, limits)


LEAST = 1e-30  # temperature below which float32 logits may become infinite


class Sampling(NamedTuple):
    """Sampling: draw the next token of a text at random.

    Draws random tokens from logits.

    Equation: x_t is drawn from softmax(logits / temperature), among the `top` most likely tokens.
    Source: arXiv:1805.04833, section 5.1 (top-k sampling); temperature as usual.
    What differs: PAD, BOS and UNK are never drawn.
    What to expect: a temperature of 1 samples from the model's distribution; lower temperatures
        give safer and more repetitive text; 0 takes the most likely token.

    Args:
        temperature: divisor of the logits; 0 takes the most likely token.
        top: number of most likely tokens to draw from; None for all.
    """

    temperature: Annotated[float, Range(0)]
    top: Annotated[int | None, Range(1)]

    def __call__(
        self, logits: Float[Tensor, "B V"], generator: torch.Generator
    ) -> Int[Tensor, " B"]:
        """Return a random token for each row of logits."""
        logits = logits.float().index_fill(1, torch.tensor([PAD, BOS, UNK]), -torch.inf)
        if self.temperature < LEAST:
            return logits.argmax(1)
        if self.top is not None and self.top < logits.size(1):
            least = logits.topk(self.top).values[:, -1:]
            logits = logits.masked_fill(logits < least, -torch.inf)
        weights = (logits / self.temperature).softmax(1)
        return torch.multinomial(weights, 1, generator=generator)[:, 0]
