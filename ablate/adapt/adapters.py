"""A small network after every sub-layer, in a frozen model.

Equation: F'(x) = F(x) + U relu(D F(x) + d) + u, where F is the sub-layer, D has the shape "width
    d_model", and U is zero at first.
Source: arXiv:1902.00751, section 2.1.
What differs: U is zero at first, so that the output is unchanged before the first step, whereas the
    paper initialises it close to zero; the activation is relu. As in the paper, norms are trained
    as well.
What to expect: with pretrained weights, close to training all weights; from random weights, worse.
"""

from typing import ClassVar, cast

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from ablate.adapt.base import Adapt
from ablate.config.limits import Count
from ablate.errors import UserError
from ablate.model.base import Model
from ablate.model.cache import Cache
from ablate.model.linear import Linear
from ablate.model.parametrisation import FanIn
from ablate.model.stack import Stack
from ablate.model.sublayer import LayerContext, Memory, Slots, Sublayer
from ablate.seeding import stream


class Adapters(Adapt):
    """An option that adds an adapter, which is a small network, after every sub-layer.

    Only adapters and norms are trained.

    Args:
        width: width of the hidden layer of an adapter.

    Raises:
        UserError: when called, the model has no sub-layers.
    """

    def __init__(self, *, width: Count) -> None:
        self.width = width

    def __call__(self, model: Model, seed: int) -> None:
        """Freeze the model except its norms, and add an adapter to every sub-layer."""
        stacks = [(name, part) for name, part in model.named_modules() if isinstance(part, Stack)]
        if not stacks:
            raise UserError("adapt=adapters: this model has no sub-layers to put adapters behind")
        model.requires_grad_(False)
        for name, stack in stacks:
            stack.residual.requires_grad_(True)
            for number, layer in enumerate(stack.layers):
                self._wrap(f"{name}.{number}", cast("nn.ModuleDict", layer), stack.d_model, seed)

    def _wrap(self, place: str, layer: nn.ModuleDict, d_model: int, seed: int) -> None:
        for name, sublayer in layer.items():
            adapted = Adapted(cast("Sublayer", sublayer), d_model, self.width)
            adapted.draw(torch.Generator().manual_seed(stream(seed, f"{place}.{name}.adapter")))
            layer[name] = adapted


class Adapted(Sublayer):
    """A sub-layer followed by its adapter."""

    fan_in: ClassVar = {"up": FanIn.FIXED}

    def __init__(self, sublayer: Sublayer, d_model: int, width: int) -> None:
        super().__init__()
        self.sublayer = sublayer
        self.down = Linear(d_model, width)
        self.up = Linear(width, d_model)

    @torch.no_grad()
    def draw(self, generator: torch.Generator) -> None:
        """Initialise the adapter such that it does not change the output of the sub-layer."""
        nn.init.xavier_uniform_(self.down.weight, generator=generator)
        for parameter in (self.down.bias, self.up.weight, self.up.bias):
            parameter.zero_()

    def forward(self, x: Float[Tensor, "B L D"], at: LayerContext) -> Float[Tensor, "B L D"]:
        """Return the output of sub-layer and adapter for whole sequences."""
        return self._adapt(self.sublayer(x, at))

    def cache(self, memory: Memory | None, slots: Slots) -> Cache:
        """Return the cache of the sub-layer; the adapter needs no cache."""
        return self.sublayer.cache(memory, slots)

    def step(
        self, x: Float[Tensor, "M N D"], at: LayerContext, slots: Slots, cache: Cache
    ) -> Float[Tensor, "M N D"]:
        """Return the output of sub-layer and adapter for the newest tokens."""
        return self._adapt(self.sublayer.step(x, at, slots, cache))

    def _adapt(self, x: Float[Tensor, "B L D"]) -> Float[Tensor, "B L D"]:
        return x + self.up(F.relu(self.down(x)))
