"""Masked language modelling: predict some tokens of a text from all the others.

Equation: nll = -(1 / N) sum over the N chosen tokens of log p(x_t | corrupted x). Of each text
    `share` of the tokens are chosen, at least one; of those, `masked` become MASK, `random` any
    token, and the others stay.
Source: arXiv:1810.04805, section 3.1 and appendix A.1: 15 %, of these 80 %, 10 %, 10 %.
What differs: texts are lines; EOS is never chosen; no prediction of next sentences. Vocabularies
    have no id to spare for MASK, so that it is UNK's, which text has only for characters that
    training never showed.
What to expect: an nll below that of a causal model of the same size, whose tokens see the past
    alone: the two are not to be compared.
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
    """A corrupted text in, its chosen tokens out.

    Args:
        share: of the tokens of a text that are predicted.
        masked: share of those that the model sees as MASK.
        random: share of those that it sees as any token of the vocabulary.

    Raises:
        UserError: `masked` and `random` are more than all.
    """

    inputs = Bidirectional
    scores_all = False
    metrics = LIKELIHOOD

    def __init__(self, *, share: Share, masked: Share, random: Share) -> None:
        if masked + random > 1:
            raise UserError(
                f"task.masked={masked} and task.random={random} are more than 1 together"
            )
        self.share, self.masked, self.random = share, masked, random
        self.vocabulary = len(SPECIALS) + 1

    def begin(self, tokenizers: Tokenizers) -> None:
        """Learn how many tokens there are to draw from."""
        self.vocabulary = tokenizers.tgt.size

    def batch(self, src: Ids, tgt: Ids, lines: Int[np.ndarray, " B"], draw: Draw) -> Batch:
        """Return the texts, which are the targets of the corpus, with what each line draws."""
        tokens, targets = tgt.copy(), np.full_like(tgt, PAD)
        for row, line in enumerate(lines.tolist()):
            random = draw(line)
            chosen = self.choose(tgt[row], random)
            targets[row, chosen] = tgt[row, chosen]
            tokens[row, chosen] = self.corrupted(tgt[row, chosen], random)
        inputs, predicted, index = tensors(tokens, targets, lines.copy())
        return Batch(Bidirectional(inputs), predicted, index)

    def choose(
        self, ids: Int[np.ndarray, " L"], random: np.random.Generator
    ) -> Int[np.ndarray, " N"]:
        """Return the places of the tokens that are predicted."""
        real = np.flatnonzero((ids != PAD) & (ids != EOS))
        count = max(1, round(self.share * len(real)))
        return random.permutation(real)[:count]

    def corrupted(
        self, ids: Int[np.ndarray, " N"], random: np.random.Generator
    ) -> Int[np.ndarray, " N"]:
        """Return what the model sees in place of chosen tokens."""
        fate = random.random(len(ids))
        others = random.integers(len(SPECIALS), self.vocabulary, len(ids))
        drawn: Bool[np.ndarray, " N"] = fate < self.masked + self.random
        return np.where(fate < self.masked, MASK, np.where(drawn, others, ids))

    def longest(self, src: int, tgt: int) -> tuple[int, int]:
        """Return the longest text alone: sources are not read."""
        return 0, tgt

    def evaluation(self, language: str, *, thorough: bool) -> Likelihood:
        """Return what scores the chosen tokens of a split, the same at every validation."""
        return Likelihood(thorough=thorough)
