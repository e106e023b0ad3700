"""Measure the output of a norm for vectors with almost no variance.

Equation: y = (x - mean) / sqrt(var + eps) has the variance var / (var + eps), which is 1 only as
    long as var is far above eps; of a constant vector it is 0.
Source: arXiv:1607.06450, equation 4; eps is torch's, 1e-5.
What differs: random vectors in float64 with a given standard deviation.
What to expect: variance 1 within two thousandths at a deviation of 0.1, about 0.9 at 0.01, 0 at 0.
"""

from typing import Annotated

import torch

from ablate.config.limits import Range
from ablate.model.transformer import Transformer
from experiments.normalisation.probe import first_norm, moments_apart
from experiments.shared.probe.draws import RandomModels


class FaintVectors(RandomModels):
    """A probe that applies a norm of the model, with its initial gain and bias, to random vectors
    with little variance.

    Args:
        draws: number of random sentences.
        length: number of vectors in a sentence.
        deviation: standard deviation of the entries of a vector; 0: constant vectors.
        seed: seed of the random vectors.
    """

    single = ("moments", "without")

    deviation: Annotated[float, Range(0)]

    @torch.no_grad()
    def __call__(self, model: Transformer) -> dict[str, float]:
        """Return how far vectors are from having mean 0 and variance 1.

        The deviation of a vector is the distance of its mean from 0 or the distance of its variance
        from 1, whichever is larger.

        Returns:
            moments: largest deviation over the output vectors of the norm.
            without: smallest deviation over the input vectors of the norm.
        """
        norm = first_norm(model)
        shape = (self.draws, self.length, model.embedding.output_weight().size(1))
        noise = torch.randn(shape, generator=self.generator(), dtype=torch.float64)
        x = 3 + self.deviation * noise
        return {
            "moments": float(moments_apart(norm(x)).max()),
            "without": float(moments_apart(x).min()),
        }
