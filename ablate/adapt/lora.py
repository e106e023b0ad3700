"""Low-rank updates of frozen matrices.

Equation: W = W_0 + (alpha / rank) B A, where B has the shape "out rank" and is zero at first, and A
    has the shape "rank in".
Source: arXiv:2106.09685, section 4.1.
What differs: A is uniform in +-sqrt(6 / in). In the paper's code, A is uniform in +-sqrt(1 / in);
    in the paper's text, A is normal. There is no dropout on the input of A. W is computed again
    each time it is used.
What to expect: with pretrained weights, nearly the quality of training all weights, although few
    weights are trained; from random weights, far worse.
"""

from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.utils import parametrize

from ablate.adapt.base import Adapt
from ablate.adapt.names import chosen
from ablate.config.limits import Count
from ablate.errors import UserError
from ablate.model.base import Model
from ablate.model.parametrisation import FanIn
from ablate.seeding import stream


class LoRA(Adapt):
    """An option that freezes the model and trains only low-rank updates of some linear maps.

    Args:
        rank: rank of the update of each matrix.
        alpha: each update is multiplied by alpha / rank.
        maps: patterns of the names of updated linear maps, such as query or decoder.*.value.

    Raises:
        UserError: when called, a pattern matches no linear map, or the rank is above a map's width.
    """

    def __init__(self, *, rank: Count, alpha: int | float, maps: list[str]) -> None:
        self.rank, self.alpha, self.maps = rank, alpha, maps

    def __call__(self, model: Model, seed: int) -> None:
        """Freeze the model, and add a trainable update to each linear map that `maps` matches.

        Args:
            model: the model, which is changed in place.
            seed: seed of the initial values of the updates.
        """
        every = model.named_modules(remove_duplicate=False)
        linear = {n: part for n, part in every if isinstance(part, nn.Linear)}
        updated: dict[nn.Linear, str] = {}
        for name in chosen("adapt.maps", self.maps, linear):
            # a projection with several uses has several names, and is updated once
            updated.setdefault(linear[name], name)
        model.requires_grad_(False)
        for part, name in updated.items():
            if self.rank > (most := min(part.weight.shape)):
                raise UserError(
                    f"adapt.rank={self.rank} is above {most}, the rank that {name} can have"
                )
            update = LowRank(part.weight, self.rank, self.alpha / self.rank)
            update.draw(torch.Generator().manual_seed(stream(seed, f"{name}.lora")))
            parametrize.register_parametrization(part, "weight", update)


class LowRank(nn.Module):
    """A parametrization that adds a trainable low-rank update to a frozen weight matrix.

    Args:
        weight: the frozen matrix, whose shape, dtype and device the update follows.
        rank: rank of the update.
        factor: the update is multiplied by this number.
    """

    fan_in: ClassVar = {"b": FanIn.FIXED}

    def __init__(self, weight: Float[Tensor, "E D"], rank: int, factor: float) -> None:
        super().__init__()
        self.factor = factor
        self.a = nn.Parameter(weight.new_zeros(rank, weight.size(1)))
        self.b = nn.Parameter(weight.new_zeros(weight.size(0), rank))

    @torch.no_grad()
    def draw(self, generator: torch.Generator) -> None:
        """Initialise the factors of the update B A: A is random, and B stays 0.

        So the update is 0 at first.
        """
        limit = (6 / self.a.size(1)) ** 0.5
        self.a.uniform_(-limit, limit, generator=generator)

    def forward(self, weight: Float[Tensor, "E D"]) -> Float[Tensor, "E D"]:
        """Return the matrix W_0 (`weight`) plus the low-rank update."""
        return weight + self.factor * self.b @ self.a
