"""Reference implementations of attention that loop over words or heads.

They process single sentences without batch or padding.
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn import functional as F

from ablate.model.attention.multi_head import MultiHeadAttention
from ablate.model.position import NoPosition
from ablate.model.projections import Map
from ablate.model.stack import LayerContext, Memory

Words = Float[Tensor, "L D"]  # the vectors of the words of a sentence
Asking = Float[Tensor, "Q D"]  # the words that ask: their vectors give the queries
Asked = Float[Tensor, "K D"]  # the words that are asked: their vectors give keys and values
# queries, keys and values of all heads
Heads = tuple[Float[Tensor, "H Q E"], Float[Tensor, "H K E"], Float[Tensor, "H K E"]]


def read(attention: MultiHeadAttention, x: Asking, y: Asked) -> Asking:
    """Return the output of an attention module whose queries come from x, and whose keys and values
    come from x (self-attention) or y (cross-attention).
    """
    place = LayerContext(
        torch.arange(len(x))[None], NoPosition(d_model=x.size(1)), real(x), Memory(y[None], real(y))
    )
    out: Tensor = attention(x[None], place)
    return out[0]


def real(x: Words) -> Bool[Tensor, "1 L"]:
    """Return a mask that marks all tokens as real, for a sentence without padding."""
    return torch.ones(1, len(x), dtype=torch.bool)


def projected(attention: MultiHeadAttention, x: Asking, y: Asked) -> Heads:
    """Return the queries that the module computes from x, and the keys and values that it computes
    from y.
    """
    (queries,) = attention.project(x[None], attention.query)
    keys, values = attention.project(y[None], attention.key, attention.value)
    return queries[0], keys[0], values[0]


def by_position(
    attention: MultiHeadAttention, x: Asking, y: Asked, valued: Asked, *, causal: bool
) -> Asking:
    """Return the output of attention, computed by the vector formula for one word and one head at a
    time.

    Keys come from y, and values come from `valued`. Real attention has the same vectors in both.
    """
    heads = []
    for h in range(attention.n_heads):
        queries = [vector(attention.query, h, attention.d_head, word) for word in x]
        keys = torch.stack([vector(attention.key, h, attention.d_head, word) for word in y])
        values = torch.stack([vector(attention.value, h, attention.d_head, w) for w in valued])
        seen = [i + 1 if causal else len(keys) for i in range(len(queries))]
        mixed = [one_query(q, keys[:n], values[:n]) for q, n in zip(queries, seen, strict=True)]
        heads.append(torch.stack(mixed))
    side_by_side = torch.cat(heads, 1)
    return torch.stack([affine(attention.output, word) for word in side_by_side])


def vector(of: Map, h: int, width: int, word: Tensor) -> Tensor:
    """Return the query, key or value of a word in head h.

    `of` is the projection to queries, keys or values, and `width` is the width of a head.
    """
    rows = slice(h * width, (h + 1) * width)
    return of.weight[rows] @ word + of.bias[rows]


def affine(of: Map, word: Float[Tensor, " D"]) -> Float[Tensor, " E"]:
    """Return the output of a linear layer for one word, computed as explicit sums of products."""
    return (of.weight * word).sum(1) + of.bias


def one_query(q: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """Return the output for one query: the sum of values weighted by the softmax of the scores."""
    strengths = ((keys * q).sum(1) / len(q) ** 0.5).exp()
    return (strengths[:, None] * values).sum(0) / strengths.sum()


def by_head(attention: MultiHeadAttention, x: Asking, y: Asked) -> Asking:
    """Return the output of attention, computed one head at a time with separate projections."""
    heads = []
    for h in range(attention.n_heads):
        rows = slice(h * attention.d_head, (h + 1) * attention.d_head)
        q, k, v = (
            F.linear(words, of.weight[rows], of.bias[rows])
            for of, words in ((attention.query, x), (attention.key, y), (attention.value, y))
        )
        heads.append(mix(q, k, v))
    return merged(attention, torch.cat(heads, 1))


def by_view(attention: MultiHeadAttention, x: Asking, y: Asked) -> Asking:
    """Return the output of attention if projections are split into heads with a wrong `view`, which
    mixes words.
    """
    parts = ((attention.query, x), (attention.key, y), (attention.value, y))
    q, k, v = (of(words).view(attention.n_heads, -1, attention.d_head) for of, words in parts)
    return merged(attention, mix(q, k, v).reshape(len(x), -1))


def mix(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Return softmax(q k^T / sqrt(d_head)) v."""
    return (q @ k.mT / q.size(-1) ** 0.5).softmax(-1) @ v


def merged(attention: MultiHeadAttention, heads: Float[Tensor, "Q W"]) -> Asking:
    """Apply the output projection of an attention module to the concatenated outputs of its
    heads.
    """
    out: Tensor = attention.output(heads)
    return out
