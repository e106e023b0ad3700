"""Language modelling: predict every token of a text from those before it.

Equation: nll = -(1 / N) sum over texts and t of log p(x_t | BOS, x_1 .. x_{t-1}), EOS among the N
    tokens; perplexity = exp(nll).
Source: Bengio et al. 2003; perplexity of a held-out text as in arXiv:1602.02410.
What differs: texts are lines, each read on its own; tokens are those of the run's vocabulary, so
    perplexities compare within one vocabulary. Of a parallel corpus, the targets are the text.
What to expect: between the perplexity of the unigram model, exp(unigram_nll), and the text's own.
"""

import numpy as np
from jaxtyping import Int

from ablate.data.batch import Batch, Draw, Ids
from ablate.data.vocabulary import BOS, EOS, PAD
from ablate.model.base import Causal
from ablate.task.base import Task, shifted, tensors
from ablate.task.likelihood import LIKELIHOOD, Likelihood


class LanguageModel(Task):
    """A text in, the same text one token later out."""

    inputs = Causal
    metrics = LIKELIHOOD

    def batch(self, src: Ids, tgt: Ids, lines: Int[np.ndarray, " B"], draw: Draw) -> Batch:
        """Return the texts, which are the targets of the corpus."""
        tokens = shifted(tgt, start=BOS, end=EOS, pad=PAD)
        inputs, targets, index = tensors(tokens, tgt, lines.copy())
        return Batch(Causal(inputs), targets, index)

    def longest(self, src: int, tgt: int) -> tuple[int, int]:
        """Return the longest text alone: sources are not read."""
        return 0, tgt

    def evaluation(self, language: str, *, thorough: bool) -> Likelihood:
        """Return what scores the texts of a split."""
        return Likelihood(thorough=thorough)
