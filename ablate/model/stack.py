"""A stack of layers (arXiv:1706.03762, section 3.1), on whole sequences or a token at a time."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial, reduce
from itertools import islice
from operator import add
from typing import NamedTuple, cast

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from ablate.model.block.base import Block
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
        residual: builds what leads past the sub-layers, from their number.
        block: says which sub-layers of a layer go together.
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
        residual: Callable[[int], Residual],
        block: Block,
        dropout: float,
    ) -> None:
        super().__init__()
        self.d_model = d_model
        self.position = position
        self.dropout = Dropout(dropout)
        self.layers = nn.ModuleList(nn.ModuleDict(dict(layer)) for layer in layers)
        self.sizes = [block.sizes(layer) for layer in layers]
        self.residual = residual(sum(len(sizes) for sizes in self.sizes))
        self.order = list(order)
        for sublayer in self.sublayers:
            sublayer.check(position)

    @property
    def sublayers(self) -> list[Sublayer]:
        """All sub-layers in the order in which they act."""
        return [cast("Sublayer", s) for i in self.order for s in self.layers[i].children()]

    @property
    def reads(self) -> list[tuple[int, int]]:
        """The residual connections in the order in which they act: number, and sub-layers."""
        first = [sum(len(sizes) for sizes in self.sizes[:i]) for i in range(len(self.sizes))]
        return [(first[i] + j, size) for i in self.order for j, size in enumerate(self.sizes[i])]

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
        padded = x.device.type != "cpu" or not bool(real.all())  # to ask a GPU is to wait for it
        at = Place(positions, self.position, real, memory, prefix, documents, [], padded)
        calls = [partial(sublayer, at=at) for sublayer in self.sublayers]
        return self._run(self.position.embed(x, positions), at, calls)

    def _run(self, x: Tensor, at: Place, calls: Sequence[partial[Tensor]]) -> Tensor:
        x = to_product_dtype(self.dropout(x))
        stream = self.residual.enter(x, at.real)
        left = iter(calls)
        for i, size in self.reads:
            together = partial(summed, list(islice(left, size)))
            stream = self.residual(i, stream, together, at.real)
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
        if x.size(1):
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
        at = Place(slots.positions, self.position, None, None, earlier=[])
        calls = [
            partial(sublayer.step, at=at, slots=slots, cache=own)
            for sublayer, own in zip(self.sublayers, cache.caches, strict=True)
        ]
        return self._run(self.position.step(x, slots.positions, cache.position), at, calls)

    def parameters_by_layer(self) -> Iterator[list[nn.Parameter]]:
        """Yield the parameters of each layer, those of its norms last; shared ones once."""
        norms = iter(self.residual.norms)
        for layer, sizes in zip(self.layers, self.sizes, strict=True):
            own = [next(norms) for _ in sizes]
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


def summed(sublayers: Sequence[Callable[[Tensor], Tensor]], x: Tensor) -> Tensor:
    """Return the sum of what sub-layers make of the same tokens."""
    return reduce(add, (sublayer(x) for sublayer in sublayers))


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
