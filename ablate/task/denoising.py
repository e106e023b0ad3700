"""Denoising: reconstruct a text in which spans are missing ("text infilling").

Equation: nll = -(1 / N) sum over t of log p(x_t | noisy x, x_1 .. x_{t-1}), over all N tokens. In
    noisy x, spans whose lengths are Poisson(`span`) are each replaced by one MASK, until the
    fraction `share` of the tokens is used up. A span of length 0 inserts a MASK between two tokens.
Source: arXiv:1910.13461, section 2.2 and 3.1: span lengths with mean 3, 30 % of the tokens.
What differs: texts are lines; sentences are not permuted. A span of length 0 uses up one token, as
    in the authors' code, and the last span is shortened so that `share` is not exceeded. The token
    MASK has the id of UNK, as in `masked_language_model`.
What to expect: an nll far below that of a language model, as most tokens can be copied.
"""

import math
from typing import Annotated

import numpy as np
from jaxtyping import Int

from ablate.config.limits import Range
from ablate.data.batch import Batch, Draw, Ids
from ablate.data.tokenizer import Tokenizers
from ablate.data.vocabulary import BOS, EOS, PAD
from ablate.errors import UserError
from ablate.model.base import Seq2Seq
from ablate.task.base import Task, shifted, tensors
from ablate.task.likelihood import LIKELIHOOD, Likelihood
from ablate.task.masked_language_model import MASK, Share


class Denoising(Task):
    """A task in which a model reads a noisy text and predicts the original text.

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

    def evaluation(self, language: str, *, thorough: bool) -> Likelihood:
        """Return an evaluation by the mean nll of the original texts, given the noisy texts.

        The noise of each text is the same at every validation. `language`, the language of the
        texts, is not used. `thorough` is true for tests and false for validation.
        """
        return Likelihood(thorough=thorough)
