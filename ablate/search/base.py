"""The interface of search algorithms, and the methods that they require of a model."""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from ablate import hardware
from ablate.data.vocabulary import EOS, PAD
from ablate.errors import UserError


@runtime_checkable
class Model(Protocol):
    """A model that decodes step by step, such as `ablate.model.base.Model`."""

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


EVERY = 8  # tokens between two reads of the device


class Search(ABC):
    """An algorithm that chooses a translation for each source.

    A translation is a list of token ids without PAD, BOS and EOS. For a source of n tokens it has
    at most `max_ratio` * n + `max_extra` tokens, where neither number counts EOS. A translation
    depends only on its source, not on other sentences of the batch or their order (except if
    rounding decides between equally good hypotheses). The caller sets `model.eval()`.

    Raises:
        UserError: `max_ratio` or `max_extra` is not a number, negative, or above `MOST`.
    """

    # of the latest call: number of sequential decoder passes per sentence; None if not counted
    steps: Int[Tensor, " B"] | None = None

    def __init__(self, max_ratio: int | float, max_extra: int) -> None:
        require(float, 0, max_ratio=max_ratio)
        require(int, 0, max_extra=max_extra)
        self.max_ratio = max_ratio
        self.max_extra = max_extra

    @abstractmethod
    def __call__(self, model: Model, src: Int[Tensor, "B S"]) -> list[list[int]]:
        """Return a translation of each source, in the order of the batch; B may be 0."""

    def limits(self, src: Int[Tensor, "B S"]) -> Int[Tensor, " B"]:
        """Return the largest allowed number of tokens in the translation of each sentence."""
        real: Bool[Tensor, "B S"] = (src != PAD) & (src != EOS)
        return (self.max_ratio * real.sum(1) + self.max_extra).long()


MOST = {  # upper limits: larger values bring no improvement, and may exceed the memory
    "size": 1_000,
    "length_penalty": 10,
    "max_ratio": 1_000,
    "max_extra": 100_000,
}


def require(kind: type[int | float], smallest: int, **settings: int | float) -> None:
    """Check that settings of a search have the given type and are between `smallest` and `MOST`.

    Raises:
        UserError: a setting has another type or is out of range.
    """
    wanted = "a whole number" if kind is int else "a number"
    for key, value in settings.items():
        if not (isinstance(value, int | kind) and smallest <= value <= MOST[key]):
            raise UserError(
                f"search.{key} is {value!r}: it must be {wanted}, at least {smallest} and at most "
                f"{MOST[key]:,}"
            )


def until_eos(ids: Int[Tensor, "B T"], limits: Int[Tensor, " B"]) -> list[list[int]]:
    """Return the ids of each row up to its first EOS, and at most as many as its limit."""
    rows = [row[:limit] for row, limit in zip(ids.tolist(), limits.tolist(), strict=True)]
    return [row[: row.index(EOS)] if EOS in row else row for row in rows]


def reads_device(length: int, device: torch.device) -> bool:
    """Return whether a search reads after `length` tokens which sentences have ended.

    On a GPU, a read waits for the device. There, some steps too many take less time.
    """
    return hardware.uses_cpu_path(device) or length % EVERY == 0


def worth_dropping(n_live: int, n_rows: int) -> bool:
    """Return whether so many sentences have ended that dropping their rows would save time.

    `n_live` is the number of unfinished sentences, and `n_rows` the number of all sentences in the
    batch. Dropping copies the rows of the unfinished sentences.
    """
    return n_live <= 0.875 * n_rows
