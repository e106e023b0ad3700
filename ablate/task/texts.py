"""Tasks that generate no text, which are evaluated by the likelihood of the true tokens."""

import math
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from ablate.config.limits import OneOf, Range
from ablate.data import BOS, EOS, PAD, SPECIALS, UNK
from ablate.data.batching import Batch, Draw, Ids
from ablate.data.tokenizer import Tokenizers
from ablate.errors import UserError
from ablate.metric import METRICS, Metric
from ablate.model import Bidirectional, Causal, CausalDocuments, Model, Seq2Seq
from ablate.search import Search
from ablate.task import Task, TokenScores, of_all_processes, predictions, shifted, tensors

LIKELIHOOD = {
    name: METRICS[name] for name in ("nll", "perplexity", "calibration_error", "accuracy")
}


class Likelihood(TokenScores):
    """The negative log-likelihood (nll) of the targets, and exp(nll) as `perplexity`.

    nll is the mean over the targets (natural logarithm, no label smoothing); EOS counts if it is a
    target. With `for_tests`, the evaluation also computes the calibration error, and the accuracy
    of the most likely token.
    """

    def update(self, model: Model, batch: Batch, search: Search) -> None:
        """Add the scores of a batch's targets; the batch may have no targets."""
        real = batch.targets != PAD
        if not real.any():
            return
        scores = predictions(model.head, model(batch.inputs)[real], batch.targets[real])
        self.read(scores)
        if self.for_tests:
            sums = real.new_zeros(real.shape, dtype=torch.float64)
            sums[real] = scores.each.double()
            rows = torch.stack([sums.sum(1), real.sum(1)], 1).cpu().numpy()
            # contexts of the same stretch of a long text have the same line number
            for line, row in zip(batch.lines.tolist(), rows, strict=True):
                self.rows[line] = self.rows.get(line, 0.0) + row

    def compute(self) -> dict[str, float]:
        """Return every score by name, computed from the batches of all processes."""
        nll = float(self.nll.compute())
        # exp overflows beyond about 709 nats
        perplexity = math.exp(nll) if nll < 700 else math.inf
        return {"nll": nll, "perplexity": perplexity, **self.calibrated()}

    def statistics(self) -> dict[str, Float[np.ndarray, "n 2"]]:
        """Return the statistics of "nll": one row for each line, in order.

        A row has the summed nll in nats and the number of targets. There are rows only with
        `for_tests`.
        """
        merged: dict[int, Any] = {}
        for part in of_all_processes(self.rows):
            for line, row in part.items():
                merged[line] = merged.get(line, 0.0) + row
        rows = [merged[line] for line in sorted(merged)]
        return {"nll": np.array(rows, dtype=np.float64).reshape(-1, 2)}


class LanguageModel(Task):
    """Language modelling: predict every token of a text from the tokens before it.

    A task in which a model reads a text and predicts each next token.

    Equation: nll = -(1 / N) sum over t of log p(x_t | x_1 .. x_{t-1}), where EOS is one of the N
        tokens; perplexity = exp(nll); bits per byte = N nll / (ln 2 * bytes of the text).
    Source: Bengio et al. 2003; perplexity of a held-out text as in arXiv:1602.02410; bits per byte
        as in arXiv:2101.00027, section 3.1; attention limited to the document as in
        arXiv:2402.13991.
    What differs: if `batch.context` is not set, each line is a separate text. If it is set, the
        whole text is cut into contexts of this length (`ablate.data.packed`), and a token sees only
        its context. Positions are counted through a context, even if it contains several documents.
        In a parallel corpus, the targets are the text. Bytes are counted in the original text
        before it is split into documents: EOS stands for the separator. An unknown character costs
        8 additional bits for each of its bytes.
    What to expect: an nll between the unigram entropy (unigram_nll) and the entropy of the text.
        The nll of two models is comparable only if they have the same vocabulary; bits per byte are
        comparable for different vocabularies, too.

    Args:
        attention: earlier tokens that a token attends to: context (all of its context) | document
            (those of its document).
    """

    reads_source = False
    packs = True
    writes = True
    main = "bpb"
    metrics: ClassVar[Mapping[str, Metric]] = {
        **LIKELIHOOD,
        **{name: METRICS[name] for name in ("bpb", "nll_per_character")},
    }

    def __init__(self, *, attention: Annotated[str, OneOf(("context", "document"))]) -> None:
        self.inputs = CausalDocuments if attention == "document" else Causal

    def batch(self, src: Ids, tgt: Ids, lines: Int[np.ndarray, " B"], draw: Draw) -> Batch:
        """Return a batch of texts, which are the targets of the corpus."""
        return self._batch(shifted(tgt, start=BOS, end=EOS, pad=PAD), tgt, lines)

    def pack(self, contexts: Ids, stretches: Int[np.ndarray, " B"]) -> Batch:
        """Return a batch of contexts; every token is predicted from the tokens before it."""
        return self._batch(contexts[:, :-1], contexts[:, 1:], stretches)

    def _batch(self, tokens: Ids, targets: Ids, lines: Int[np.ndarray, " B"]) -> Batch:
        read, wanted, index = tensors(tokens, targets, lines.copy())
        return Batch(self.inputs_of(read), wanted, index)

    def inputs_of(self, tokens: Int[Tensor, "B L"]) -> Causal | CausalDocuments:
        """Return the inputs of a model for these tokens.

        With attention=document, each EOS begins the next document.
        """
        if self.inputs is Causal:
            return Causal(tokens)
        return CausalDocuments(tokens, (tokens == EOS).cumsum(1))

    def evaluation(self, language: str, *, for_tests: bool) -> "TextLikelihood":
        """Return the evaluation of the texts of a split. With `for_tests`, it includes calibration
        error and accuracy.
        """
        return TextLikelihood(for_tests=for_tests)


class TextLikelihood(Likelihood):
    """The nll of a text, and the same value in bits per byte and in nats per character."""

    def compute(self) -> dict[str, float]:
        """Return every score by name, computed from the batches of all processes."""
        scores, length = super().compute(), self.text.length
        if length is None:
            return scores
        nll = scores["nll"]
        return scores | {
            "bpb": length.bits_per_byte(nll),
            "nll_per_character": length.nats_per_character(nll),
        }


MASK = UNK
Share = Annotated[float, Range(0, 1)]


class MaskedLanguageModel(Task):
    """Masked language modelling: predict some tokens of a text from all other tokens.

    A task in which a model reads a corrupted text and predicts the chosen tokens.

    Equation: nll = -(1 / N) sum over the N chosen tokens of log p(x_t | corrupted x). The fraction
        `share` of each text's tokens is chosen, at least one token. Of the chosen tokens, the
        fraction `masked` is replaced by MASK, the fraction `random` by a random token, and the
        others stay.
    Source: arXiv:1810.04805, section 3.1 and appendix A.1: 15 %, of these 80 %, 10 %, 10 %.
    What differs: texts are lines; EOS is never chosen; there is no prediction of next sentences.
        Vocabularies have no id for MASK, so MASK has the id of UNK, which occurs in text only for
        characters that the training text lacks.
    What to expect: an nll below that of a causal model of the same size, which sees only earlier
        tokens. The nll values of the two tasks are not comparable.

    Args:
        share: fraction of the tokens of a text that are predicted.
        masked: fraction of the predicted tokens that the model sees as MASK.
        random: fraction of the predicted tokens that the model sees as a random token.

    Raises:
        UserError: `masked` and `random` sum to more than 1.
    """

    inputs = Bidirectional
    reads_source = False
    scores_all = False
    metrics = LIKELIHOOD

    def __init__(self, *, share: Share, masked: Share, random: Share) -> None:
        if masked + random > 1:
            raise UserError(
                f"task.masked={masked} and task.random={random} sum to more than 1: they are "
                "fractions of the predicted tokens, so reduce one of them"
            )
        self.share, self.masked, self.random = share, masked, random
        self.vocabulary = len(SPECIALS) + 1

    def begin(self, tokenizers: Tokenizers) -> None:
        """Store the size of the vocabulary, from which random tokens are drawn."""
        self.vocabulary = tokenizers.tgt.size

    def batch(self, src: Ids, tgt: Ids, lines: Int[np.ndarray, " B"], draw: Draw) -> Batch:
        """Return a batch of corrupted texts; the texts are the targets of the corpus."""
        tokens, targets = tgt.copy(), np.full_like(tgt, PAD)
        for row, line in enumerate(lines.tolist()):
            random = draw(line)
            chosen = self.choose(tgt[row], random)
            targets[row, chosen] = tgt[row, chosen]
            tokens[row, chosen] = self.corrupted(tgt[row, chosen], random)
        inputs, predicted, index = tensors(tokens, targets, lines.copy())
        return Batch(Bidirectional(inputs), predicted, index)

    def scored_targets(self, src: Ids, tgt: Ids, lines: Int[np.ndarray, " B"], draw: Draw) -> Ids:
        """Return the targets with PAD in place of EOS: epoch by epoch, every other token is
        chosen.
        """
        return np.where(tgt == EOS, PAD, tgt)

    def choose(
        self, ids: Int[np.ndarray, " L"], random: np.random.Generator
    ) -> Int[np.ndarray, " N"]:
        """Return the positions of the tokens to predict."""
        real = np.flatnonzero((ids != PAD) & (ids != EOS))
        count = max(1, round(self.share * len(real)))
        return random.permutation(real)[:count]

    def corrupted(
        self, ids: Int[np.ndarray, " N"], random: np.random.Generator
    ) -> Int[np.ndarray, " N"]:
        """Return the tokens that replace the chosen tokens in the input."""
        fate = random.random(len(ids))
        random_tokens = random.integers(len(SPECIALS), self.vocabulary, len(ids))
        drawn: Bool[np.ndarray, " N"] = fate < self.masked + self.random
        return np.where(fate < self.masked, MASK, np.where(drawn, random_tokens, ids))

    def evaluation(self, language: str, *, for_tests: bool) -> Likelihood:
        """Return an evaluation by the mean nll of the chosen tokens.

        The same tokens are chosen at every validation. `language`, the language of the texts, is
        not used. `for_tests` is true for tests and false for validation.
        """
        return Likelihood(for_tests=for_tests)


class Denoising(Task):
    """Denoising: reconstruct a text in which spans are missing ("text infilling").

    A task in which a model reads a noisy text and predicts the original text.

    Equation: nll = -(1 / N) sum over t of log p(x_t | noisy x, x_1 .. x_{t-1}), over all N tokens.
        In noisy x, spans whose lengths are Poisson(`span`) are each replaced by one MASK, until the
        fraction `share` of the tokens is used up. A span of length 0 inserts a MASK between two
        tokens.
    Source: arXiv:1910.13461, section 2.2 and 3.1: span lengths with mean 3, 30 % of the tokens.
    What differs: texts are lines; sentences are not permuted. A span of length 0 uses up one token,
        as in the authors' code, and the last span is shortened so that `share` is not exceeded. The
        token MASK has the id of UNK, as in `masked_language_model`.
    What to expect: an nll far below that of a language model, as most tokens can be copied.

    Args:
        share: fraction of the tokens of a text that are removed from the input.
        span: mean number of tokens that one MASK replaces.
    """

    inputs = Seq2Seq
    metrics = LIKELIHOOD

    def __init__(self, *, share: Share, span: Annotated[float, Range(0)]) -> None:
        self.share, self.span = share, span

    def begin(self, tokenizers: Tokenizers) -> None:
        """Check that source and target share a vocabulary, because both have the same language.

        Raises:
            UserError: source and target have different vocabularies.
        """
        if not tokenizers.joint:
            raise UserError(
                "task=denoising reads and writes one language, and tokenizer.joint=false gives "
                "source and target a vocabulary each: choose tokenizer.joint=true"
            )

    def batch(self, src: Ids, tgt: Ids, lines: Int[np.ndarray, " B"], draw: Draw) -> Batch:
        """Return a batch of texts; the source of each text is a noisy copy of the text.

        The texts are the targets of the corpus.
        """
        texts = (row[(row != PAD) & (row != EOS)] for row in tgt)
        noisy = [
            self.noisy(text, draw(line)) for text, line in zip(texts, lines.tolist(), strict=True)
        ]
        source = np.full((len(tgt), max(map(len, noisy), default=0) + 1), PAD)
        for row, ids in zip(source, noisy, strict=True):
            row[: len(ids) + 1] = [*ids, EOS]
        tgt_in = shifted(tgt, start=BOS, end=EOS, pad=PAD)
        inputs, before, targets, index = tensors(source, tgt_in, tgt, lines.copy())
        return Batch(Seq2Seq(inputs, before), targets, index)

    def noisy(self, text: Int[np.ndarray, " N"], random: np.random.Generator) -> list[int]:
        """Return a copy of a text in which each of some random spans is replaced by one MASK."""
        lengths = self.lengths(math.ceil(self.share * len(text)), random)
        kept = len(text) - sum(lengths)
        masks = set(random.choice(kept + len(lengths), len(lengths), replace=False).tolist())
        tokens, at, spans = [], 0, iter(lengths)
        for place in range(kept + len(lengths)):
            tokens.append(MASK if place in masks else int(text[at]))
            at += next(spans) if place in masks else 1
        return tokens

    def lengths(self, budget: int, random: np.random.Generator) -> list[int]:
        """Return random lengths of spans that together use up `budget` tokens."""
        lengths: list[int] = []
        while budget:
            length = min(int(random.poisson(self.span)), budget)
            lengths.append(length)
            budget -= max(1, length)
        return lengths

    def longest(self, src: int, tgt: int) -> tuple[int, int]:
        """Return the largest numbers of tokens of a noisy text and of an original text.

        A noisy text is longest if all spans have length 0, so that MASKs are only inserted.
        """
        return tgt + math.ceil(self.share * tgt), tgt

    def evaluation(self, language: str, *, for_tests: bool) -> Likelihood:
        """Return an evaluation by the mean nll of the original texts, given the noisy texts.

        The noise of each text is the same at every validation. `language`, the language of the
        texts, is not used. `for_tests` is true for tests and false for validation.
        """
        return Likelihood(for_tests=for_tests)
