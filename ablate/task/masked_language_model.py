"""Masked language modelling: predict some tokens of a text from all other tokens.

Equation: nll = -(1 / N) sum over the N chosen tokens of log p(x_t | corrupted x). The fraction
    `share` of each text's tokens is chosen, at least one token. Of the chosen tokens, the fraction
    `masked` is replaced by MASK, the fraction `random` by a random token, and the others stay.
Source: arXiv:1810.04805, section 3.1 and appendix A.1: 15 %, of these 80 %, 10 %, 10 %.
What differs: texts are lines; EOS is never chosen; there is no prediction of next sentences.
    Vocabularies have no id for MASK, so MASK has the id of UNK, which occurs in text only for
    characters that the training text lacks.
What to expect: an nll below that of a causal model of the same size, which sees only earlier
    tokens. The nll values of the two tasks are not comparable.
"""

from typing import Annotated

import numpy as np
from jaxtyping import Bool, Int

from ablate.config.limits import Range
from ablate.data.batch import Batch, Draw, Ids
from ablate.data.tokenizer import Tokenizers
from ablate.data.vocabulary import EOS, PAD, SPECIALS, UNK
from ablate.errors import UserError
from ablate.model.base import Bidirectional
from ablate.task.base import Task, tensors
from ablate.task.likelihood import LIKELIHOOD, Likelihood

MASK = UNK
Share = Annotated[float, Range(0, 1)]


class MaskedLanguageModel(Task):
    """A task in which a model reads a corrupted text and predicts the chosen tokens.

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

    def scored(self, src: Ids, tgt: Ids, lines: Int[np.ndarray, " B"], draw: Draw) -> Ids:
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

    def longest(self, src: int, tgt: int) -> tuple[int, int]:
        """Return 0, because sources are not read, and the number of tokens of the longest text."""
        return 0, tgt

    def evaluation(self, language: str, *, thorough: bool) -> Likelihood:
        """Return an evaluation by the mean nll of the chosen tokens.

        The same tokens are chosen at every validation. `language`, the language of the texts, is
        not used. `thorough` is true for tests and false for validation.
        """
        return Likelihood(thorough=thorough)
