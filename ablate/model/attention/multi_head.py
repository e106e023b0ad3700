"""Multi-head attention: linear projections around an attention kernel.

Source: arXiv:1706.03762, section 3.2.2.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional as F

from ablate.model.attention.base import Kernel, Keys
from ablate.model.cache import Cache
from ablate.model.linear import stacked_linear
from ablate.model.padding.base import Mask, Padding
from ablate.model.position.base import Heads, Newest, Position, Tokens
from ablate.model.product import stack
from ablate.model.projections.base import Map, Projections
from ablate.model.projections.separate import Separate
from ablate.model.sublayer import VECTOR, LayerContext, Memory, Slots, Sublayer
from ablate.model.values.base import Values
from ablate.model.values.separate import Separate as SeparateValues

SEPARATE = partial(Separate, output="learned")


class Packed(NamedTuple):
    """Several linear maps that a single matrix product computes.

    `weights` has the matrix of each map, and `bias` the biases of all maps as one vector.
    """

    weights: Sequence[Float[Tensor, "_ D"]]
    bias: Float[Tensor, " N"] | None

    def stacked(self) -> "Packed":
        """Return the same maps with their weights concatenated once, for several products."""
        return Packed([stack(self.weights)], self.bias)


class MultiHeadAttention(Sublayer):
    """Projects tokens to heads, calls an attention kernel, and projects its output back.

    Weights are read at every call, so a parametrisation of torch (`torch.nn.utils.parametrize`)
    takes effect wherever they are used.

    Args:
        d_model: width of tokens, and of the encoded source in cross-attention.
        n_heads: number of heads.
        d_head: width of a head; n_heads * d_head may differ from d_model.
        kernel: computes the outputs of the heads from queries, keys and values.
        padding: makes the mask of padding.
        projections: makes the linear maps to heads and back.
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

    def project(self, x: Tokens, packed: Packed) -> tuple[Heads, ...]:
        """Return, for each linear map in `packed`, the heads that it computes from x."""
        maps = torch.split(stacked_linear(x, *packed), self.n_heads * self.d_head, -1)
        shape = *x.shape[:2], self.n_heads, self.d_head
        heads = [part.view(shape).transpose(1, 2) for part in maps]
        if self.kernel.reads_strided(x.size(1), x.device):
            return tuple(heads)
        return torch.stack(heads).unbind()  # one copy here, or each product would make a copy

    def scaled(self, queries: Heads) -> Heads:
        """Return the queries times `query_factor`."""
        return queries if self.query_factor == 1 else queries * self.query_factor

    def merge(self, heads: Heads, x: Tokens) -> Tokens:
        """Return the output projection of the concatenated heads.

        x is the input of the sub-layer.
        """
        merged: Tensor = self.output(self.kernel.finish(heads, x).transpose(1, 2).flatten(2))
        return merged


class SelfAttention(MultiHeadAttention):
    """Attention of tokens to each other; with `causal`, to themselves and earlier tokens only.

    `look_ahead` is an ablation: it removes the causal mask for whole sequences. In step-by-step
    decoding it has no effect, because later tokens do not exist yet.
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
        """Raise UserError if the position option does not work with these heads or this kernel."""
        position.check_heads(self.d_head)
        biased = type(position).bias is not Position.bias
        self.kernel.check(causal=self.causal, biased=biased)

    def forward(self, x: Tokens, at: LayerContext) -> Tokens:
        """Return the attention output of each token."""
        q, k, v = self.project(at.position.within(x, at.positions), self.packed())
        q, k = self.rotated(q, k, at)
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

    def rotated(self, q: Heads, k: Heads, at: LayerContext) -> tuple[Heads, Heads]:
        """Return queries and keys of tokens, rotated by their positions."""
        prepared = self.kernel.prepare_queries(q), self.kernel.prepare_keys(k)
        q, k = (at.position.rotate(heads, at.positions) for heads in prepared)
        return q, k

    def cache(self, memory: Memory | None, slots: Slots) -> Cache:
        """Return the cache for decoding, before the first step.

        The cache contains the stacked matrices of the query, key and value projections, but no keys
        and values yet.
        """
        return SelfCache(self.packed().stacked(), self.kernel.cache(slots))

    def step(self, x: Newest, at: LayerContext, slots: Slots, cache: Cache) -> Newest:
        """Return the attention output of each hypothesis's newest token over its past tokens."""
        assert isinstance(cache, SelfCache)
        q, k, v = self.project(at.position.within(x, at.positions), cache.packed)
        q, k = self.rotated(q, k, at)
        v = self.values.mix(v, at.earlier if at.earlier is not None else [])
        bias = at.position.bias(self.n_heads, at.positions, slots.past_positions)
        return self.merge(self.kernel.step(self.scaled(q), k, v, slots, cache.past, bias), x)

    def packed(self) -> Packed:
        """Return the linear maps to queries, keys and values."""
        return pack(self.query, self.key, self.value)


class SelfCache(NamedTuple):
    """The cache of self-attention: stacked projection matrices, and the state of the kernel."""

    packed: Packed
    past: Cache

    def reorder(self, rows: Int[Tensor, " R"]) -> None:
        """Replace the state of row i by the state of row `rows[i]` of the same sentence."""
        self.past.reorder(rows)

    def keep(self, sentences: Int[Tensor, " M"]) -> None:
        """Keep the rows of the given sentences and drop all other rows."""
        self.past.keep(sentences)


class CrossAttention(MultiHeadAttention):
    """Attention of target tokens to the encoded source, called the memory.

    Positions have no effect here, because source and target are numbered separately.
    """

    def forward(self, x: Float[Tensor, "B Q D"], at: LayerContext) -> Float[Tensor, "B Q D"]:
        """Return the attention output of each token over the memory."""
        assert at.real is not None and at.memory is not None
        mask = self.padding.mask(at.real, at.memory.real)
        return self.attend(x, *self.keys_values(at.memory.states), mask)

    def cache(self, memory: Memory | None, slots: Slots) -> Cache:
        """Return a cache with the keys and values of the memory, computed once per sentence."""
        assert memory is not None
        keys, values = self.keys_values(memory.states)
        queries = memory.real.new_ones(memory.real.size(0), slots.beams)
        mask = self.padding.mask(queries, memory.real)
        return CrossCache(keys, values, mask.dense(slots.beams, keys.size(2), keys.device))

    def step(self, x: Newest, at: LayerContext, slots: Slots, cache: Cache) -> Newest:
        """Return the attention output of each hypothesis's newest token over the memory."""
        assert isinstance(cache, CrossCache)
        mask = Mask(pairs=cache.pairs, query_positions=at.positions)
        return self.attend(x, cache.keys, cache.values, mask)

    def keys_values(self, memory: Float[Tensor, "B K D"]) -> tuple[Keys, Keys]:
        """Return the keys and values of the memory (the encoded source)."""
        keys, values = self.project(memory, pack(self.key, self.value))
        return self.kernel.prepare_keys(keys), values

    def attend(
        self, x: Float[Tensor, "B Q D"], keys: Keys, values: Keys, mask: Mask
    ) -> Float[Tensor, "B Q D"]:
        """Return the attention output of each token in x over the given keys and values."""
        queries = self.query(x).view(*x.shape[:2], self.n_heads, self.d_head).transpose(1, 2)
        queries = self.scaled(self.kernel.prepare_queries(queries))
        return self.merge(self.kernel(queries, keys, values, mask, None), x)


class CrossCache:
    """A cache of the keys and values of the memory (the encoded source).

    Keys are padded once to at least VECTOR keys; the additional keys are masked.
    """

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
        """Keep the rows of the given sentences and drop all other rows."""
        self.keys = self.keys.index_select(0, sentences)
        self.values = self.values.index_select(0, sentences)
        if self.pairs is not None:
            self.pairs = self.pairs.index_select(0, sentences)


def pack(*maps: Map) -> Packed:
    """Return several linear maps as the operands of a single matrix product."""
    biases = [part.bias for part in maps if part.bias is not None]
    bias = torch.cat(biases) if len(biases) == len(maps) else None
    return Packed([part.weight for part in maps], bias)
