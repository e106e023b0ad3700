"""A stack of layers (arXiv:1706.03762, section 3.1), on whole sequences or a token at a time."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple, cast

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from ablate.model.cache import Cache
from ablate.model.dropout import Dropout
from ablate.model.linear import to_product_dtype
from ablate.model.position.base import Position
from ablate.model.residual.base import Residual
from ablate.model.sublayer import Memory, Place, Slots, Sublayer


class Stack(nn.Module):
    """Positions, dropout, and layers of sub-layers along the residual stream.

    Args:
        layers: the sub-layers of each layer, by name.
        order: the numbers of the layers that tokens pass, one that shares its weights repeatedly.
        d_model: width of the tokens.
        position: tells where tokens stand.
        residual: leads past the sub-layers.
        dropout: probability on the embedded tokens.

    Raises:
        UserError: a sub-layer and the positions do not fit.
    """

    def __init__(
        self,
        layers: Sequence[Mapping[str, Sublayer]],
        *,
        order: Sequence[int],
        d_model: int,
        position: Position,
        residual: Residual,
        dropout: float,
    ) -> None:
        super().__init__()
        self.d_model = d_model
        self.position = position
        self.dropout = Dropout(dropout)
        self.layers = nn.ModuleList(nn.ModuleDict(dict(layer)) for layer in layers)
        self.residual = residual
        own = [len(layer) for layer in layers]
        self.order = list(order)
        self.numbers = [sum(own[:i]) + j for i in order for j in range(own[i])]
        for sublayer in self.sublayers:
            sublayer.check(position)

    @property
    def sublayers(self) -> list[Sublayer]:
        """All sub-layers in the order in which they act; their numbers are `numbers`."""
        return [cast("Sublayer", s) for i in self.order for s in self.layers[i].children()]

    def forward(
        self,
        x: Float[Tensor, "B L D"],
        real: Bool[Tensor, "B L"],
        memory: Memory | None = None,
        positions: Int[Tensor, "#B L"] | None = None,
        prefix: int = 0,
        documents: Int[Tensor, "B L"] | None = None,
    ) -> Float[Tensor, "B L D"]:
        """Return the tokens after all layers; `real` is False at padding.

        Tokens stand side by side unless `positions` says otherwise. The first `prefix` of them are
        read by all, whatever the causal mask says. Tokens read those with the same number in
        `documents` alone.
        """
        if positions is None or not len(x):
            positions = torch.arange(x.size(1), device=x.device)[None]
        at = Place(positions, self.position, real, memory, prefix, documents)
        calls = [partial(sublayer, at=at) for sublayer in self.sublayers]
        return self._run(self.position.embed(x, positions), at, calls)

    def _run(self, x: Tensor, at: Place, calls: Sequence[partial[Tensor]]) -> Tensor:
        x = to_product_dtype(self.dropout(x))
        stream = self.residual.enter(x, at.real)
        for i, call in zip(self.numbers, calls, strict=True):
            stream = self.residual.through(i, stream, call, at.real)
        return self.residual.leave(stream, at.real)

    @torch.no_grad()
    def start(self, memory: Memory, beams: int) -> "StackCache":
        """Return the caches before the first step, for `beams` hypotheses of each sentence."""
        slots = Slots(memory.real.size(0), beams, memory.real.device)
        return self._cache(memory, slots)

    @torch.no_grad()
    def start_after(
        self, x: Float[Tensor, "M P D"], real: Bool[Tensor, "M P"], beams: int, *, causal: bool
    ) -> "StackCache":
        """Return the caches after a prefix that all hypotheses of a sentence share.

        Its tokens read those before them if `causal`, else each other.
        """
        slots = Slots(len(x), beams, x.device)
        cache = self._cache(None, slots)
        slots.begin_prefix(real, causal=causal)
        self._newest(x, cache)
        slots.end_prefix(real)
        return cache

    @torch.no_grad()
    def step(self, x: Float[Tensor, "M N D"], cache: "StackCache") -> Float[Tensor, "M N D"]:
        """Return the newest tokens after all layers, and advance the caches."""
        cache.slots.begin_step()
        x = self._newest(x, cache)
        cache.slots.end_step()
        return x

    def _cache(self, memory: Memory | None, slots: Slots) -> "StackCache":
        own = [sublayer.cache(memory, slots) for sublayer in self.sublayers]
        return StackCache(slots, self.position.cache(), own)

    def _newest(self, x: Tensor, cache: "StackCache") -> Tensor:
        slots = cache.slots
        at = Place(slots.positions, self.position, None, None)
        calls = [
            partial(sublayer.step, at=at, slots=slots, cache=own)
            for sublayer, own in zip(self.sublayers, cache.caches, strict=True)
        ]
        return self._run(self.position.step(x, slots.positions, cache.position), at, calls)

    def parameters_by_layer(self) -> Iterator[list[nn.Parameter]]:
        """Yield the parameters of each layer, those of its norms last; shared ones once."""
        norms = iter(self.residual.norms)
        for layer in self.layers:
            own = [next(norms) for _ in layer.children()]
            yield [*layer.parameters(), *(p for norm in own for p in norm.parameters())]

    def adjust_initial_values(self) -> None:
        """Multiply the initial values of the sub-layers as the residual asks for."""
        for layer in self.layers:
            gains: dict[nn.Parameter, float] = {}
            # a matrix of several uses has several names
            for name, parameter in layer.named_parameters(remove_duplicate=False):
                gains[parameter] = min(self.residual.gain(name), gains.get(parameter, torch.inf))
            for parameter, gain in gains.items():
                if gain != 1:
                    parameter.mul_(gain)


class StackCache(NamedTuple):
    """What a stack remembers between the steps of decoding."""

    slots: Slots
    position: Cache
    caches: list[Cache]  # of every sub-layer, in the order in which they act

    def reorder(self, rows: Int[Tensor, " R"]) -> None:
        """Let row i go on from what row `rows[i]`, of the same sentence, has decoded."""
        for part in (self.slots, self.position, *self.caches):
            part.reorder(rows)

    def keep(self, sentences: Int[Tensor, " M"]) -> None:
        """Drop all sentences but these, with all their rows."""
        for part in (self.slots, self.position, *self.caches):
            part.keep(sentences)
