"""Multi-head attention: projections, heads and a kernel (arXiv:1706.03762, section 3.2.2)."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional as F

from ablate.model.attention.base import Kernel
from ablate.model.cache import Cache
from ablate.model.linear import linear
from ablate.model.padding.base import Mask, Padding
from ablate.model.position.base import Position
from ablate.model.projections.base import Map, Projections
from ablate.model.projections.separate import Separate
from ablate.model.sublayer import VECTOR, Memory, Place, Slots, Sublayer
from ablate.model.values.base import Values
from ablate.model.values.separate import Separate as SeparateValues

SEPARATE = partial(Separate, output="learned")

Packed = tuple[Float[Tensor, "N D"], Float[Tensor, " N"] | None]  # weight and bias of several maps


class MultiHeadAttention(Sublayer):
    """Projects to heads, lets the kernel attend, and projects back.

    Weights are read at every call, so whatever parametrises them acts everywhere alike
    (`torch.nn.utils.parametrize`).

    Args:
        d_model: width of tokens and memory.
        n_heads: number of heads.
        d_head: width of one; n_heads * d_head need not be d_model.
        kernel: what attends.
        padding: says which queries and keys are masked.
        projections: makes the maps to heads and back.
        layer: number of the layer in its stack, counted from 0.
        query_factor: multiplies the queries.
    """

    def __init__(  # noqa: PLR0913
        self,
        *,
        d_model: int,
        n_heads: int,
        d_head: int,
        kernel: Kernel,
        padding: Padding,
        projections: Callable[..., Projections] = SEPARATE,
        layer: int = 0,
        query_factor: float = 1.0,
    ) -> None:
        super().__init__()
        self.d_model, self.n_heads, self.d_head = d_model, n_heads, d_head
        maps = projections(d_model=d_model, n_heads=n_heads, d_head=d_head)
        self.query, self.key, self.value = maps.query, maps.key, maps.value
        self.output = maps.output
        self.kernel = kernel
        kernel.join(d_model=d_model, n_heads=n_heads, layer=layer)
        self.padding = padding
        self.query_factor = query_factor

    def project(
        self, x: Float[Tensor, "B L D"], packed: Packed
    ) -> tuple[Float[Tensor, "B H L E"], ...]:
        """Return what each of the packed maps makes of x, as heads; one product serves them all."""
        n_maps = len(packed[0]) // (self.n_heads * self.d_head)
        parts = linear(x, *packed).view(*x.shape[:2], n_maps, self.n_heads, self.d_head)
        # one copy here, in place of one for each product that needs a head's rows side by side
        return parts.permute(2, 0, 3, 1, 4).contiguous().unbind()

    def scaled(self, queries: Float[Tensor, "B H L E"]) -> Float[Tensor, "B H L E"]:
        """Return the queries times their factor."""
        return queries if self.query_factor == 1 else queries * self.query_factor

    def merge(
        self, heads: Float[Tensor, "B H L E"], x: Float[Tensor, "B L D"]
    ) -> Float[Tensor, "B L D"]:
        """Return the output projection of the heads, side by side; the sub-layer reads x."""
        merged: Tensor = self.output(self.kernel.finish(heads, x).transpose(1, 2).flatten(2))
        return merged


class SelfAttention(MultiHeadAttention):
    """Tokens read each other, or with `causal` those before them.

    With `look_ahead` as well, whole sequences are read without the causal mask; where decoding goes
    on step by step, there is nothing ahead to look at.
    """

    def __init__(  # noqa: PLR0913
        self,
        *,
        d_model: int,
        n_heads: int,
        d_head: int,
        kernel: Kernel,
        padding: Padding,
        causal: bool,
        look_ahead: bool = False,
        projections: Callable[..., Projections] = SEPARATE,
        layer: int = 0,
        query_factor: float = 1.0,
        values: Values | None = None,
    ) -> None:
        super().__init__(
            d_model=d_model,
            n_heads=n_heads,
            d_head=d_head,
            kernel=kernel,
            padding=padding,
            projections=projections,
            layer=layer,
            query_factor=query_factor,
        )
        self.causal, self.look_ahead = causal, look_ahead
        self.values = values or SeparateValues()

    def check(self, position: Position) -> None:
        """Raise UserError where positions cannot act in these heads or this kernel."""
        position.check_heads(self.d_head)
        biased = type(position).bias is not Position.bias
        self.kernel.check(causal=self.causal, biased=biased)

    def forward(self, x: Float[Tensor, "B L D"], at: Place) -> Float[Tensor, "B L D"]:
        """Return what each token reads."""
        q, k, v = self.project(at.position.within(x, at.positions), self.packed())
        q, k = (at.position.rotate(heads, at.positions) for heads in (q, k))
        v = self.values.mix(v, at.earlier if at.earlier is not None else [])
        bias = at.position.bias(self.n_heads, at.positions, at.positions)
        assert at.real is not None
        mask = self.padding.mask(at.real, at.real) if at.padded else Mask()
        if self.causal and not self.look_ahead:
            mask = mask.after(at.prefix, at.real)
        if at.documents is not None:
            mask = mask.within(at.documents)
        if self.kernel.reads_positions:
            mask = mask.at(at.positions, at.positions)
        return self.merge(self.kernel(self.scaled(q), k, v, mask, bias), x)

    def cache(self, memory: Memory | None, slots: Slots) -> Cache:
        """Return the kernel's cache, and the projections as they are now."""
        return SelfCache(self.packed(), self.kernel.cache(slots))

    def step(
        self, x: Float[Tensor, "M N D"], at: Place, slots: Slots, cache: Cache
    ) -> Float[Tensor, "M N D"]:
        """Return what the newest tokens read of their own past."""
        assert isinstance(cache, SelfCache)
        q, k, v = self.project(at.position.within(x, at.positions), cache.packed)
        q, k = (at.position.rotate(heads, at.positions) for heads in (q, k))
        v = self.values.mix(v, at.earlier if at.earlier is not None else [])
        bias = at.position.bias(self.n_heads, at.positions, slots.past_positions)
        return self.merge(self.kernel.step(self.scaled(q), k, v, slots, cache.past, bias), x)

    def packed(self) -> Packed:
        """Return the maps to queries, keys and values as one."""
        return pack(self.query, self.key, self.value)


class SelfCache(NamedTuple):
    """What self-attention has of the steps before; its projections are packed once."""

    packed: Packed
    past: Cache

    def reorder(self, rows: Int[Tensor, " R"]) -> None:
        """Let row i go on from what row `rows[i]` has decoded."""
        self.past.reorder(rows)

    def keep(self, sentences: Int[Tensor, " M"]) -> None:
        """Drop all sentences but these."""
        self.past.keep(sentences)


class CrossAttention(MultiHeadAttention):
    """Tokens read the memory. Positions do not act here: the two sides are numbered apart."""

    def forward(self, x: Float[Tensor, "B Q D"], at: Place) -> Float[Tensor, "B Q D"]:
        """Return what each token reads from the memory."""
        assert at.real is not None and at.memory is not None
        mask = self.padding.mask(at.real, at.memory.real)
        return self.attend(x, *self.keys_values(at.memory.states), mask)

    def cache(self, memory: Memory | None, slots: Slots) -> Cache:
        """Return keys and values of the memory, once per sentence."""
        assert memory is not None
        keys, values = self.keys_values(memory.states)
        queries = memory.real.new_ones(memory.real.size(0), slots.beams)
        mask = self.padding.mask(queries, memory.real)
        return CrossCache(keys, values, mask.dense(slots.beams, keys.size(2), keys.device))

    def step(
        self, x: Float[Tensor, "M N D"], at: Place, slots: Slots, cache: Cache
    ) -> Float[Tensor, "M N D"]:
        """Return what the newest tokens read from the memory."""
        assert isinstance(cache, CrossCache)
        mask = Mask(pairs=cache.pairs, query_positions=at.positions)
        return self.attend(x, cache.keys, cache.values, mask)

    def keys_values(
        self, memory: Float[Tensor, "B K D"]
    ) -> tuple[Float[Tensor, "B H K E"], Float[Tensor, "B H K E"]]:
        """Return keys and values of the memory."""
        keys, values = self.project(memory, pack(self.key, self.value))
        return keys, values

    def attend(
        self,
        x: Float[Tensor, "B Q D"],
        keys: Float[Tensor, "B H K E"],
        values: Float[Tensor, "B H K E"],
        mask: Mask,
    ) -> Float[Tensor, "B Q D"]:
        """Return what each x reads from given keys and values."""
        queries = self.query(x).view(*x.shape[:2], self.n_heads, self.d_head).transpose(1, 2)
        return self.merge(self.kernel(self.scaled(queries), keys, values, mask, None), x)


class CrossCache:
    """Keys and values of the memory; masked ones up to VECTOR, once rather than at every step."""

    def __init__(
        self,
        keys: Float[Tensor, "M H S E"],
        values: Float[Tensor, "M H S E"],
        pairs: Bool[Tensor, "M 1 #N #S"] | None,
    ) -> None:
        missing = VECTOR - keys.size(2)
        if pairs is not None and missing > 0:
            every = pairs.expand(-1, -1, -1, keys.size(2))
            keys, values = (F.pad(heads, (0, 0, 0, missing)) for heads in (keys, values))
            pairs = F.pad(every, (0, missing))
        self.keys, self.values, self.pairs = keys, values, pairs

    def reorder(self, rows: Int[Tensor, " R"]) -> None:
        """Do nothing: the hypotheses of a sentence share its memory."""

    def keep(self, sentences: Int[Tensor, " M"]) -> None:
        """Drop all sentences but these."""
        self.keys = self.keys.index_select(0, sentences)
        self.values = self.values.index_select(0, sentences)
        if self.pairs is not None:
            self.pairs = self.pairs.index_select(0, sentences)


def pack(*maps: Map) -> Packed:
    """Return the weights of linear maps of one input, and their biases, each as one tensor."""
    weight = torch.cat([part.weight for part in maps])
    biases = [part.bias for part in maps if part.bias is not None]
    return weight, torch.cat(biases) if len(biases) == len(maps) else None
