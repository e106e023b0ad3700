"""Count sequential decoder passes in greedy search and in Jacobi decoding.

Equation: greedy search takes a pass for every token; Jacobi decoding updates all tokens in each
    pass, given the previous ones, until none changes.
Source: arXiv:2305.10427, section 3.1.
What differs: random weights in float64, so that rounding does not affect the result.
What to expect: equal translations with at most as many passes. The saving depends on how strongly a
    token depends on the previous one; parallel_decoding measures it for a trained model.
"""

from typing import Any

import torch

from ablate.config.limits import Count
from ablate.model import Model
from ablate.probe import random_sentences
from ablate.search import Greedy
from experiments.parallel_decoding.search import Jacobi
from experiments.shared.probe.draws import RandomModels

LIMITS = {"max_ratio": 1.5, "max_extra": 10}


class DecodingPasses(RandomModels):
    """A probe that translates random sentences under random weights with greedy search and Jacobi
    decoding.

    Args:
        draws: number of models with random weights.
        length: number of tokens in the longest source.
        sentences: number of sentences that each model decodes.
        seed: seed of weights and sentences.

    Raises:
        UserError: `draws` or `sentences` is below 1, or `length` below 2.
    """

    needs = Model
    single = ("greedy", "jacobi", "saved", "different")

    sentences: Count

    def __call__(self, model: Any) -> dict[str, float]:
        """Return numbers of decoder passes, and how often the two searches disagree.

        Returns:
            greedy: mean number of decoder passes per sentence for greedy search.
            jacobi: mean number of decoder passes per sentence for Jacobi decoding.
            saved: greedy minus jacobi.
            different: fraction of sentences for which the two translations differ.
        """
        greedy, jacobi = Greedy(**LIMITS), Jacobi(**LIMITS)  # type: ignore[arg-type]
        passes, different = [], []
        for other, generator in self.models(model):
            lengths = torch.randint(2, self.length + 1, (self.sentences,), generator=generator)
            src = random_sentences(other, lengths.tolist(), generator)
            pairs = zip(greedy(other, src), jacobi(other, src), strict=True)
            different += [float(first != two) for first, two in pairs]
            assert greedy.steps is not None and jacobi.steps is not None
            passes.append(torch.stack([greedy.steps, jacobi.steps]).double().mean(1))
        by_word, at_once = torch.stack(passes).mean(0).tolist()
        return {
            "greedy": by_word,
            "jacobi": at_once,
            "saved": by_word - at_once,
            "different": sum(different) / len(different),
        }
