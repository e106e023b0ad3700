"""A stack of layers (arXiv:1706.03762, section 3.1), on whole sequences or step by step."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from itertools import count, islice
from operator import add
from typing import cast

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from ablate import hardware
from ablate.errors import UserError
from ablate.model import Cache
from ablate.model.block import Block
from ablate.model.dropout import Dropout
from ablate.model.linear import to_product_dtype
from ablate.model.position import Position
from ablate.model.residual import Residual
from ablate.model.sublayer import LayerContext, Memory, Slots, Sublayer


class Stack(nn.Module):
    """A stack of Transformer layers: positions, dropout, and sub-layers with residual connections.

    Args:
        layers: the sub-layers of each layer, by name.
        order: numbers of the layers in the order in which they act; a layer whose weights are
            shared occurs several times.
        d_model: width of the tokens.
        position: gives the positions of tokens.
        residual: builds the residual connections, given the number of connections.
        block: decides how many sub-layers share a residual connection.
        dropout: dropout probability of the embedded tokens.

    Raises:
        UserError: a sub-layer does not work with the positions.
    """

    # whether nothing, such as a loss or a norm, reads the outputs at padding
    ignores_padding = False

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
        """The residual connections in order of execution, as (index, number of sub-layers).

        All sub-layers of a connection read the same input, and their outputs are summed.
        """
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
        """Return the output of the stack for whole sequences.

        Args:
            x: embedded tokens.
            real: False at padding.
            memory: the encoded source, for a decoder.
            positions: positions of the tokens; None: 0, 1, 2, ...
            prefix: number of tokens at the start of each row that all tokens may read, even under a
                causal mask.
            documents: number of each token's document; tokens attend only within their document.

        Raises:
            UserError: the positions have changed the number of sentences or tokens.
        """
        on_cpu = hardware.uses_cpu_path(x.device)
        # given positions belong to a source and a target with padding between them
        ignores_padding = self.ignores_padding and positions is None and not on_cpu
        if positions is None or not len(x):
            positions = torch.arange(x.size(1), device=x.device)[None]
        padded = not (on_cpu and bool(real.all()))
        at = LayerContext(
            positions,
            self.position,
            real,
            memory,
            prefix,
            documents,
            earlier=[],
            padded=padded,
            ignores_padding=ignores_padding,
            memo={},
        )
        calls = [partial(sublayer, at=at) for sublayer in self.sublayers]
        embedded = self.position.embed(x, positions)
        if embedded.shape[:2] != x.shape[:2]:  # attention would broadcast it without an error
            raise UserError(
                f"`embed` of model/position ({type(self.position).__name__}) changed the first two "
                f"dimensions (sentences, tokens) from {tuple(x.shape[:2])} to "
                f"{tuple(embedded.shape[:2])}: return embeddings of the same shape"
            )
        return self._run(embedded, at, calls)

    def _run(self, x: Tensor, at: LayerContext, calls: Sequence[partial[Tensor]]) -> Tensor:
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
        """Return the caches of decoding after a prefix that all hypotheses of a sentence share.

        Args:
            x: embedded tokens of the prefix, such as the source of a decoder-only translator.
            real: False at padding.
            beams: number of hypotheses of each sentence.
            causal: True: tokens of the prefix attend only to themselves and to earlier tokens;
                False: to the whole prefix.
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
        """Return the output of the stack for the newest token of each hypothesis.

        The tokens are added to the cache.
        """
        cache.slots.begin_step()
        x = self._newest(x, cache)
        cache.slots.end_step()
        return x

    def _cache(self, memory: Memory | None, slots: Slots) -> "StackCache":
        caches = [sublayer.cache(memory, slots) for sublayer in self.sublayers]
        return StackCache(slots, self.position.cache(), caches)

    def _newest(self, x: Tensor, cache: "StackCache") -> Tensor:
        slots = cache.slots
        at = LayerContext(slots.positions, self.position, None, None, earlier=[], memo={})
        self.position.extend(slots.first + slots.length + 1)
        calls = [
            partial(sublayer.step, at=at, slots=slots, cache=sublayer_cache)
            for sublayer, sublayer_cache in zip(self.sublayers, cache.caches, strict=True)
        ]
        return self._run(self.position.step(x, slots.positions, cache.position), at, calls)

    def parameters_by_layer(self) -> Iterator[list[nn.Parameter]]:
        """Yield the parameters of each layer, with the parameters of its norms last.

        A layer that is used several times occurs once.
        """
        numbers = count()
        for layer, sizes in zip(self.layers, self.sizes, strict=True):
            layer_norms = [n for _ in sizes for n in self.residual.norms_of(next(numbers))]
            yield [*layer.parameters(), *(p for norm in layer_norms for p in norm.parameters())]

    def adjust_initial_values(self) -> None:
        """Multiply the initial values of sub-layers by the factors of the residual connections."""
        for layer in self.layers:
            gains: dict[nn.Parameter, float] = {}
            # a shared matrix has several names, of which the smallest factor is applied
            for name, parameter in layer.named_parameters(remove_duplicate=False):
                gains[parameter] = min(self.residual.gain(name), gains.get(parameter, torch.inf))
            for parameter, gain in gains.items():
                if gain != 1:
                    parameter.mul_(gain)


def summed(sublayers: Sequence[Callable[[Tensor], Tensor]], x: Tensor) -> Tensor:
    """Return the sum of the outputs of several sub-layers for the same input x."""
    return reduce(add, (sublayer(x) for sublayer in sublayers))


@dataclass
class StackCache(Cache):
    """The caches of a stack between the steps of decoding."""

    slots: Slots
    position: Cache
    caches: list[Cache]  # one for each sub-layer, in the order in which sub-layers act

    def parts(self) -> list[Cache]:
        """Return the caches of slots, positions and sub-layers."""
        return [self.slots, self.position, *self.caches]
