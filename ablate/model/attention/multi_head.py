"""Multi-head attention: linear projections around an attention kernel.

Source: arXiv:1706.03762, section 3.2.2.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional as F

from ablate.model import Cache
from ablate.model.attention import Kernel, Keys
from ablate.model.layers import hooked_output, stack, stacked_linear
from ablate.model.padding import Mask, Padding
from ablate.model.position import Heads, Newest, Position, Tokens
from ablate.model.projections import Map, Projections, Separate
from ablate.model.stack import VECTOR, LayerContext, Memory, Slots, Sublayer
from ablate.model.values import Separate as SeparateValues
from ablate.model.values import Values

SEPARATE = partial(Separate, output="learned")


class Stacked(NamedTuple):
    """Several linear maps whose weights are concatenated once, for many products."""

    weight: Float[Tensor, "N D"]
    bias: Float[Tensor, " N"] | None


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

    def project(self, x: Tokens, *maps: Map | Stacked) -> tuple[Heads, ...]:
        """Return the heads that the linear maps compute from x, by a single matrix product."""
        hooked = [None if isinstance(part, Stacked) else hooked_output(part, x) for part in maps]
        product = stacked_linear(x, [part.weight for part in maps], biases(*maps))
        parts = torch.split(product, self.n_heads * self.d_head, -1)
        if any(output is not None for output in hooked):
            parts = tuple(p if h is None else h for p, h in zip(parts, hooked, strict=True))
        shape = *x.shape[:2], self.n_heads, self.d_head
        heads = [part.view(shape).transpose(1, 2) for part in parts]
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
    decoding it has no effect, because later tokens do not exist yet. The other arguments are those
    of `MultiHeadAttention`.
    """

    def __init__(
        self,
        *,
        causal: bool,
        look_ahead: bool = False,
        values: Values | None = None,
        **attention: Any,
    ) -> None:
        super().__init__(**attention)
        self.causal, self.look_ahead = causal, look_ahead
        self.values = values or SeparateValues()

    @property
    def maps(self) -> tuple[Map, ...]:
        """The linear maps to queries, keys and values."""
        return self.query, self.key, self.value

    def check(self, position: Position) -> None:
        """Raise UserError if the position option does not work with these heads or this kernel."""
        position.check_heads(self.d_head)
        biased = type(position).bias is not Position.bias
        self.kernel.check(causal=self.causal, biased=biased)

    def heads(self, x: Tokens, at: LayerContext, *maps: Map | Stacked) -> tuple[Heads, ...]:
        """Return queries, keys and values of tokens.

        Queries and keys are rotated by the positions of their tokens.
        """
        q, k, v = self.project(at.position.embed_in_layer(x, at.positions), *maps)
        prepared = self.kernel.prepare_queries(q), self.kernel.prepare_keys(k)
        places = at.once("places", lambda: at.position.prepare(at.positions, q.size(3), q.dtype))
        q, k = (at.position.rotate(heads, places) for heads in prepared)
        earlier = [] if at.earlier is None else at.earlier
        return self.scaled(q), k, self.values.mix(v, earlier)

    def forward(self, x: Tokens, at: LayerContext) -> Tokens:
        """Return the attention output of each token."""
        q, k, v = self.heads(x, at, *self.maps)
        bias = at.once(
            ("bias", self.n_heads),
            lambda: at.position.bias(self.n_heads, at.positions, at.positions),
        )
        kind = type(self), type(self.padding), self.causal, self.look_ahead
        mask = at.once(kind, lambda: self.mask(at))
        return self.merge(self.kernel(q, k, v, mask, bias), x)

    def mask(self, at: LayerContext) -> Mask:
        """Return the mask of whole sequences."""
        assert at.real is not None
        causal = self.causal and not self.look_ahead
        implied = causal and at.ignores_padding and self.padding.is_implied_by_causality
        mask = self.padding.mask(at.real, at.real) if at.padded and not implied else Mask()
        if causal:
            mask = mask.after(at.prefix, at.real)
        if at.documents is not None:
            mask = mask.within(at.documents)
        return mask.at(at.positions, at.positions)

    def cache(self, memory: Memory | None, slots: Slots) -> Cache:
        """Return the cache for decoding, before the first step."""
        weight = stack([part.weight for part in self.maps])
        return SelfAttentionCache(Stacked(weight, biases(*self.maps)), self.kernel.cache(slots))

    def step(self, x: Newest, at: LayerContext, slots: Slots, cache: Cache) -> Newest:
        """Return the attention output of each hypothesis's newest token over its past tokens."""
        assert isinstance(cache, SelfAttentionCache)
        q, k, v = self.heads(x, at, cache.projections)
        bias = at.once(
            ("bias", self.n_heads),
            lambda: at.position.bias(self.n_heads, at.positions, slots.past_positions),
        )
        return self.merge(self.kernel.step(q, k, v, slots, cache.kernel_cache, bias), x)


class SelfAttentionCache(Cache):
    """Decoding cache of a self-attention: the concatenated weights of the query, key and value
    projections, and the kernel's cache of earlier tokens.
    """

    def __init__(self, projections: Stacked, kernel_cache: Cache) -> None:
        self.projections, self.kernel_cache = projections, kernel_cache

    def parts(self) -> tuple[Cache]:
        """Return the cache of past tokens."""
        return (self.kernel_cache,)


class CrossAttention(MultiHeadAttention):
    """Attention of target tokens to the encoded source, called the memory.

    Positions have no effect here, because source and target are numbered separately.
    """

    def forward(self, x: Float[Tensor, "B Q D"], at: LayerContext) -> Float[Tensor, "B Q D"]:
        """Return the attention output of each token over the memory."""
        assert at.real is not None and at.memory is not None
        real, memory = at.real, at.memory
        kind = type(self), type(self.padding)
        mask = at.once(kind, lambda: self.padding.mask(real, memory.real))
        return self.attend(x, *self.keys_values(memory.states), mask)

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
        mask = cache.mask
        if self.kernel.reads_positions:
            mask = replace(mask, query_positions=at.positions)
        return self.attend(x, cache.keys, cache.values, mask)

    def keys_values(self, memory: Float[Tensor, "B K D"]) -> tuple[Keys, Keys]:
        """Return the keys and values of the memory (the encoded source)."""
        keys, values = self.project(memory, self.key, self.value)
        return self.kernel.prepare_keys(keys), values

    def attend(
        self, x: Float[Tensor, "B Q D"], keys: Keys, values: Keys, mask: Mask
    ) -> Float[Tensor, "B Q D"]:
        """Return the attention output of each token in x over the given keys and values."""
        queries = self.query(x).view(*x.shape[:2], self.n_heads, self.d_head).transpose(1, 2)
        if not self.kernel.reads_strided(keys.size(2), x.device):
            queries = queries.contiguous()  # as in `project`
        queries = self.scaled(self.kernel.prepare_queries(queries))
        return self.merge(self.kernel(queries, keys, values, mask, None), x)


class CrossCache(Cache):
    """A cache of the keys and values of the memory, which the hypotheses of a sentence share.

    Keys are padded once to at least VECTOR keys; the additional keys are masked. All steps share
    the mask, and what kernels compute from it.
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
        self.keys, self.values, self.mask = keys, values, Mask(pairs=pairs)

    def keep(self, sentences: Int[Tensor, " M"]) -> None:
        """Keep the rows of the given sentences and drop all other rows."""
        self.keys = self.keys.index_select(0, sentences)
        self.values = self.values.index_select(0, sentences)
        if self.mask.pairs is not None:
            self.mask = Mask(pairs=self.mask.pairs.index_select(0, sentences))


def biases(*maps: Map | Stacked) -> Float[Tensor, " N"] | None:
    """Return the biases of several linear maps as one vector; None unless all maps have biases."""
    vectors = [part.bias for part in maps if part.bias is not None]
    if len(vectors) < len(maps):
        return None
    return vectors[0] if len(vectors) == 1 else torch.cat(vectors)
