"""Fixed random vectors: they distinguish positions, but lack the geometry of sinusoids.

Equation: x[pos] + sqrt(d_model / 2) g[pos] / |g[pos]|, where g[pos] is drawn once from a normal
    distribution and never trained.
Source: a control for arXiv:1706.03762, section 3.5, which hypothesises that sinusoids help
    because p[pos + k] is a linear function of p[pos].
What differs: the vectors have the norm of sinusoids, but no linear map leads from p[pos] to p[pos +
    k] for all positions. Both stacks and all training seeds share the vectors.
What to expect: most of the benefit of sinusoids, because positions can be told apart; less if
    distances matter, because a model must learn the distance of each pair of positions separately.
    Positions beyond the training lengths are unknown to the model.
"""

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from ablate.config.limits import Seed
from ablate.model.position.base import FixedVectors


class FixedRandom(FixedVectors):
    """Positions that add a random vector of fixed norm.

    Args:
        d_model: width.
        draw: seed of the random vectors.
    """

    def __init__(self, *, d_model: int, draw: Seed) -> None:
        self.draw = draw
        super().__init__(d_model=d_model)

    def vectors(self, length: int, d_model: int) -> Float[Tensor, "L D"]:
        """Return the vectors of positions 0 to length - 1, which do not depend on `length`."""
        # numpy's numbers do not depend on how many are drawn; those of torch do
        normal = np.random.default_rng(self.draw).standard_normal((length, d_model))
        unit = normal / np.linalg.norm(normal, axis=1, keepdims=True)
        return torch.tensor(unit * (d_model / 2) ** 0.5, dtype=torch.float32)
