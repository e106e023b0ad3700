"""Attention as a formula: matrices against single words, heads against one product, shapes.

Equation: head_h(x_i) = sum_j a_ij v_j, a_ij = exp(q_i k_j / sqrt(d_head)) / sum_j' exp(...), with
    q = x W_Q + b_Q and so on for each head; MultiHead = [head_1 ... head_H] W_O + b_O.
Source: arXiv:1706.03762, sections 3.2.1 and 3.2.2.
What differs: random weights, biases and words in float64, from which layers have learned nothing.
What to expect: rounding alone between the modules and the loops. Averages of the values hold for a
    head and not behind the output projection, queries are X W and not W X, a mean of values differs
    between queries once a causal mask cuts it off.
"""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

import torch
from jaxtyping import Float
from torch import Tensor

from ablate.claims.probe.attention.attention_loops import (
    Heads,
    affine,
    by_head,
    by_position,
    by_view,
    projected,
    read,
)
from ablate.claims.probe.attention.divided_heads import divisibility, with_heads
from ablate.claims.probe.random_models import RandomModels, extremes
from ablate.config.limits import Range
from ablate.model.attention.base import Kernel
from ablate.model.attention.multi_head import CrossAttention, MultiHeadAttention, SelfAttention
from ablate.model.attention.uniform import Uniform
from ablate.model.inspect import weights_of
from ablate.model.padding.base import Mask
from ablate.model.transformer import Transformer

APART = 20.0  # of two scores: exp(-20) is no number of float16
DIRECTIONS = 64  # in which points are compared with the values that they should lie between
LEAST = (
    "matrix_control",
    "average_control",
    "row_control",
    "dropout_row_error",
    "left_error",
    "softmax_spread",
    "view_error",
    "free_width_changes",
    "layer_control",
)


@dataclass(kw_only=True)
class AttentionAlgebra(RandomModels):
    """Computes self-attention, causal self-attention and cross-attention in other ways as well."""

    length: Annotated[int, Range(3)]
    measures = (
        "matrix_error",
        "matrix_control",
        "float32_error",
        "cross_error",
        "average_error",
        "average_control",
        "block_excess",
        "row_error",
        "dropout_row_error",
        "float16_zeros",
        "not_square",
        "cross_not_square",
        "other_rows",
        "row_control",
        "left_refused",
        "left_error",
        "columns_error",
        "layer_error",
        "layer_control",
        "bias_moves",
        "unequal_accepted",
        "mean_spread",
        "causal_mean_spread",
        "softmax_spread",
        "heads_error",
        "view_error",
        "shape_changes",
        "free_width_changes",
        "divisible_wrong",
        "divisible_reversed",
        "undivided",
        "unchecked",
    )

    def __call__(self, model: Transformer) -> dict[str, float]:
        """Return the extremes over all draws; the functions below say what they are of."""
        found = [self.draw(*drawn) for drawn in self.models(model)]
        return extremes(found, LEAST) | divisibility()

    @torch.no_grad()
    def draw(self, model: Transformer, generator: torch.Generator) -> dict[str, Tensor]:
        """Return the measurements under one set of weights, on sentences of two lengths."""
        width = model.embedding.output_weight().size(1)
        first, apart = (
            int(torch.randint(*span, (), generator=generator))
            for span in ((2, self.length + 1), (1, self.length - 1))
        )
        second = 2 + (first - 2 + apart) % (self.length - 1)
        x, y, square = (
            torch.randn(n, width, generator=generator, dtype=torch.float64)
            for n in (first, second, width)
        )
        own, causal, cross = attentions(model)
        heads, across = projected(own, x, x), projected(cross, x, y)
        found = {
            **forms(own, causal, cross, x, y),
            **shapes((own, causal, cross), x, y, with_heads(width, 3, width, generator)),
            **averages(own, x, heads, generator),
            **rows(own.kernel, heads, across[0] @ across[1].mT),
            **projections(own, x[: width - 1], square),
            **means(own.kernel, heads),
        }
        return {name: torch.as_tensor(value, dtype=torch.float64) for name, value in found.items()}


def attentions(model: Transformer) -> tuple[SelfAttention, SelfAttention, CrossAttention]:
    """Return the first self-attention, causal self-attention and cross-attention of a model."""
    own = [part for part in model.modules() if isinstance(part, SelfAttention)]
    causal = next(part for part in own if part.causal)
    cross = next(part for part in model.modules() if isinstance(part, CrossAttention))
    return next(part for part in own if not part.causal), causal, cross


def forms(
    own: SelfAttention,
    causal: SelfAttention,
    cross: CrossAttention,
    x: Float[Tensor, "Q D"],
    y: Float[Tensor, "K D"],
) -> dict[str, float]:
    """Compare the modules with loops.

    matrix_error: distance from the loop over words and heads, float32_error: that of the module in
    float32, cross_error: that of cross-attention, x and y being of two lengths; matrix_control:
    with the values of other words. heads_error: distance from a loop over heads; view_error: from
    heads cut without regard to words.
    """
    apart, single, wrong = [], [], []
    for attention, other in ((own, x), (causal, x), (cross, y)):
        out, is_causal = read(attention, x, other), attention is causal
        loop = by_position(attention, x, other, other, causal=is_causal)
        rolled = by_position(attention, x, other, other.roll(1, 0), causal=is_causal)
        half = read(copy.deepcopy(attention).float(), x.float(), other.float())
        apart.append(largest(out - loop))
        single.append(largest(half - loop))
        wrong.append(largest(out - rolled))
    pairs = ((own, x), (cross, y))
    return {
        "matrix_error": max(apart),
        "cross_error": apart[-1],
        "float32_error": max(single),
        "matrix_control": min(wrong),
        "heads_error": max(largest(read(m, x, z) - by_head(m, x, z)) for m, z in pairs),
        "view_error": min(largest(read(m, x, z) - by_view(m, x, z)) for m, z in pairs),
    }


def shapes(
    modules: tuple[MultiHeadAttention, ...],
    x: Float[Tensor, "Q D"],
    y: Float[Tensor, "K D"],
    wider: MultiHeadAttention,
) -> dict[str, float]:
    """Compare the shape of what goes in and comes out.

    shape_changes: outputs of another shape than x, also where heads together are wider than x;
    free_width_changes: whether these change the width before the output projection.
    """
    outs = [read(attention, x, y) for attention in (*modules, wider)]
    return {
        "shape_changes": float(sum(out.shape != x.shape for out in outs)),
        "free_width_changes": float(wider.output.in_features != x.size(1)),
    }


def averages(
    own: MultiHeadAttention, x: Float[Tensor, "Q D"], heads: Heads, generator: torch.Generator
) -> dict[str, float]:
    """Ask whether outputs are averages of the values.

    average_error: how far a head's output is from the sum of values by its weights, a weight below
    0, or the output outside of the values' convex hull; average_control: from the sum of other
    words' values; block_excess: how far the output of all heads, projected, is outside of the hull
    of the values. row_error and dropout_row_error: how far the weights of a row are from 1
    together, in testing and in training; float16_zeros: of two weights in float16, scores
    being APART, those that are 0.
    """
    q, k, v = (of[None] for of in heads)
    out, weights = own.kernel(q, k, v, Mask(), None), weights_of(own.kernel, q, k, v, Mask(), None)
    training = dropped(own.kernel, q, k, v)
    below = float((-weights).clamp(min=0).max())
    excess = outside(out[0], v[0], generator)
    together = v[0].transpose(0, 1).flatten(1)
    near = torch.tensor([0.0, 2.0], dtype=torch.float16).view(1, 1, 2, 1)
    asking = torch.full_like(near[:, :, 1:], APART / 2 * own.d_head**0.5)
    narrow = weights_of(own.kernel, asking, near, near, Mask(), None)
    return {
        "average_error": max(largest(out - weights @ v), below, excess),
        "average_control": largest(out - weights @ v.roll(1, 2)),
        "block_excess": outside(read(own, x, x), together, generator),
        "row_error": largest(weights.sum(-1) - 1),
        "dropout_row_error": largest(training.sum(-1) - 1),
        "float16_zeros": float((narrow == 0).sum()),
    }


def dropped(kernel: Kernel, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Return the weights of a kernel in training, with the same dropout every time."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return weights_of(copy.deepcopy(kernel).train(), q, k, v, Mask(), None)


def outside(
    points: Float[Tensor, "*H Q W"], values: Float[Tensor, "*H K W"], generator: torch.Generator
) -> float:
    """Return how far points lie beyond all values in some direction; 0 within their convex hull."""
    width = values.size(-1)
    drawn = torch.randn(width, DIRECTIONS, generator=generator, dtype=values.dtype)
    axes = torch.eye(width, dtype=values.dtype)
    directions = torch.cat([drawn / drawn.norm(dim=0), axes, -axes], 1)
    farthest = (values @ directions).amax(-2, keepdim=True)
    return float((points @ directions - farthest).clamp(min=0).max())


def rows(kernel: Kernel, heads: Heads, across: Float[Tensor, "H R S"]) -> dict[str, float]:
    """Ask what stands where in the scores.

    not_square and cross_not_square: whether the scores of a sentence with itself, or with another,
    are no square; other_rows: how far the weights of others move when one word asks something else,
    row_control: how far its own do. unequal_accepted: how many of two lists of values that are not
    as long as the keys the kernel takes.
    """
    q, k, v = heads
    asked = q.clone()
    asked[:, 0] = -q[:, 0]
    before, after = (
        weights_of(kernel, z[None], k[None], v[None], Mask(), None) for z in (q, asked)
    )
    moved = (after - before).abs().amax((0, 1, 3))
    shorter = (v[:, :-1], v[:, :1]) if v.size(1) > 2 else (v[:, :1],)
    return {
        "not_square": float((q @ k.mT).shape != (len(q), q.size(1), q.size(1))),
        "cross_not_square": float(across.size(1) != across.size(2)),
        "other_rows": float(moved[1:].max()),
        "row_control": float(moved[0]),
        "unequal_accepted": float(sum(not refused(kernel, q, k, few) for few in shorter)),
    }


def refused(kernel: Kernel, q: Tensor, k: Tensor, v: Tensor) -> bool:
    """Return whether a kernel raises an error for these heads."""
    return raises(lambda: kernel(q[None], k[None], v[None], Mask(), None))


def raises(compute: Callable[[], Tensor]) -> bool:
    """Return whether torch cannot compute something."""
    try:
        compute()
    except (RuntimeError, TypeError):  # of torch, or of shapes that are checked
        return True
    return False


def projections(
    own: MultiHeadAttention, x: Float[Tensor, "Q D"], square: Float[Tensor, "D D"]
) -> dict[str, float]:
    """Ask in which order words and weights are multiplied; W maps to queries, words are rows.

    left_refused: whether W X cannot be computed where there are not as many words as dimensions;
    left_error: how far it is from the queries where there are; columns_error: how far W^T X^T is,
    words being columns. layer_error: how far queries are from a fully connected layer of
    every word, layer_control: of another word; bias_moves: how far they are from X W.
    """
    weight = own.query.weight.T
    queries, plain = own.query(x), square @ weight
    alone = torch.stack([affine(own.query, word) for word in x])
    return {
        "left_refused": float(raises(lambda: weight @ x)),
        "left_error": largest(weight @ square - plain),
        "columns_error": largest((weight.T @ square.T).T - plain),
        "layer_error": largest(queries - alone),
        "layer_control": largest(queries - alone.roll(1, 0)),
        "bias_moves": largest(queries - x @ weight),
    }


def means(kernel: Kernel, heads: Heads) -> dict[str, float]:
    """Compare what the queries read: the largest distance from what the first one does.

    mean_spread: the mean of all values; causal_mean_spread: that of the words so far;
    softmax_spread: with the model's own kernel.
    """
    q, k, v = (of[None] for of in heads)
    uniform = Uniform(d_head=q.size(3), dropout=0.0)
    outs = {
        "mean_spread": uniform(q, k, v, Mask(), None),
        "causal_mean_spread": uniform(q, k, v, Mask(causal=True), None),
        "softmax_spread": kernel(q, k, v, Mask(), None),
    }
    return {name: largest(out - out[:, :, :1]) for name, out in outs.items()}


def largest(difference: Tensor) -> float:
    """Return the largest absolute value."""
    return float(difference.abs().max())
