"""Check formulas of attention: matrix form against loops, heads against one product, shapes.

Equation: head_h(x_i) = sum_j a_ij v_j, a_ij = exp(q_i k_j / sqrt(d_head)) / sum_j' exp(...), with q
    = x W_Q + b_Q and so on for each head; MultiHead = [head_1 ... head_H] W_O + b_O.
Source: arXiv:1706.03762, sections 3.2.1 and 3.2.2.
What differs: random weights, biases and words in float64; nothing is learned.
What to expect: modules and loops agree up to rounding. The output of a head is a weighted average
    of the values; after the output projection it is not. If the rows of X are words, queries are
    X W, not W X. Uniform attention gives all queries the same output, unless the mask is causal.
"""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

import numpy as np
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
from ablate.claims.probe.random_models import ExtremesOfModels
from ablate.config.limits import Range
from ablate.errors import UserError
from ablate.model.attention.base import Kernel
from ablate.model.attention.multi_head import CrossAttention, MultiHeadAttention, SelfAttention
from ablate.model.attention.uniform import Uniform
from ablate.model.inspect import weights_of
from ablate.model.padding.base import Mask
from ablate.model.transformer import Transformer

APART = 20.0  # difference of two scores: exp(-20) underflows in float16
DIRECTIONS = 64  # number of directions in which points are compared with the convex hull of values


@dataclass(kw_only=True)
class AttentionAlgebra(ExtremesOfModels):
    """A probe that computes self-attention, causal self-attention and cross-attention in several
    ways and compares the results.
    """

    length: Annotated[int, Range(3)]
    least = (
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
        """Return one value of each measurement over all random models: the smallest value if
        `least` names the measurement, otherwise the largest value.

        The functions of this module and the function `divisibility` describe their measurements.

        Raises:
            UserError: the attention between the projections has learned weights.
        """
        for attention in attentions(model):
            if any(True for _ in attention.kernel.parameters()):
                raise UserError(
                    "probe=attention_algebra compares attention with formulas that have no learned "
                    f"weights between the projections, but {type(attention.kernel).__name__} has "
                    "some: choose another model/attention, such as fused"
                )
        return super().__call__(model) | divisibility()

    @torch.no_grad()
    def draw(self, model: Transformer, generator: torch.Generator) -> dict[str, float]:
        """Return the measurements for one model with random weights, on random word vectors of two
        sentences of different lengths.

        The functions of this module describe their measurements.
        """
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
        plain, causal, cross = attentions(model)
        heads, across = projected(plain, x, x), projected(cross, x, y)
        return {
            **forms(plain, causal, cross, x, y),
            **shapes((plain, causal, cross), x, y, with_heads(width, 3, width, generator)),
            **averages(plain, x, heads, generator),
            **rows(plain.kernel, heads, across[0] @ across[1].mT),
            **projections(plain, x[: width - 1], square),
            **means(plain.kernel, heads),
        }


def attentions(model: Transformer) -> tuple[SelfAttention, SelfAttention, CrossAttention]:
    """Return three attention modules of a model: its first self-attention without a causal mask,
    its first causal self-attention, and its first cross-attention.
    """
    modules = [part for part in model.modules() if isinstance(part, SelfAttention)]
    causal = next(part for part in modules if part.causal)
    cross = next(part for part in model.modules() if isinstance(part, CrossAttention))
    return next(part for part in modules if not part.causal), causal, cross


def forms(
    plain: SelfAttention,
    causal: SelfAttention,
    cross: CrossAttention,
    x: Float[Tensor, "Q D"],
    y: Float[Tensor, "K D"],
) -> dict[str, float]:
    """Return the differences between attention modules and explicit loops.

    Returns:
        matrix_error: difference from a loop over words and heads.
        float32_error: the same difference in float32.
        cross_error: the same difference for cross-attention between sentences of two lengths.
        matrix_control: the same difference with the values of other words, as a control.
        heads_error: difference from a loop over heads.
        view_error: difference from heads that are split with a wrong `view`.
    """
    apart, single, wrong = [], [], []
    for attention, other in ((plain, x), (causal, x), (cross, y)):
        out, is_causal = read(attention, x, other), attention is causal
        loop = by_position(attention, x, other, other, causal=is_causal)
        rolled = by_position(attention, x, other, other.roll(1, 0), causal=is_causal)
        half = read(copy.deepcopy(attention).float(), x.float(), other.float())
        apart.append(largest(out - loop))
        single.append(largest(half - loop))
        wrong.append(largest(out - rolled))
    pairs = ((plain, x), (cross, y))
    return {
        "matrix_error": float(np.max(apart)),
        "cross_error": apart[-1],
        "float32_error": float(np.max(single)),
        "matrix_control": float(np.min(wrong)),
        "heads_error": float(np.max([largest(read(m, x, z) - by_head(m, x, z)) for m, z in pairs])),
        "view_error": float(np.min([largest(read(m, x, z) - by_view(m, x, z)) for m, z in pairs])),
    }


def shapes(
    modules: tuple[MultiHeadAttention, ...],
    x: Float[Tensor, "Q D"],
    y: Float[Tensor, "K D"],
    wider: MultiHeadAttention,
) -> dict[str, float]:
    """Return whether attention keeps the shape of its input, also if its heads together have
    another width.

    Returns:
        shape_changes: number of attention modules (`modules` and `wider`) whose output has another
            shape than x.
        free_width_changes: 1 if the outputs of all heads of `wider`, before the output projection,
            have another shape than x, else 0.
    """
    outs = [read(attention, x, y) for attention in (*modules, wider)]
    q, k, v = (of[None] for of in projected(wider, x, x))
    heads = wider.kernel(q, k, v, Mask(), None)[0].transpose(0, 1).flatten(1)
    return {
        "shape_changes": float(sum(out.shape != x.shape for out in outs)),
        "free_width_changes": float(heads.shape != x.shape),
    }


def averages(
    attention: MultiHeadAttention, x: Float[Tensor, "Q D"], heads: Heads, generator: torch.Generator
) -> dict[str, float]:
    """Return measurements of whether the outputs of attention are averages of the values.

    Returns:
        average_error: the largest of three numbers: the deviation of a head's output from the
            weighted sum of the values, the size of the most negative weight, and the distance of an
            output from the convex hull of the values.
        average_control: the deviation of a head's output from the weighted sum of the values of
            other words.
        block_excess: the distance of the module's output, after the output projection, from the
            convex hull of the values, which are the concatenated values of all heads.
        row_error, dropout_row_error: deviation of the row sums of the weights from 1, in evaluation
            and with dropout.
        float16_zeros: number of weights that are 0 in float16, for a query with two keys whose
            scores differ by APART.
    """
    q, k, v = (of[None] for of in heads)
    out, weights = (
        attention.kernel(q, k, v, Mask(), None),
        weights_of(attention.kernel, q, k, v, Mask(), None),
    )
    training = dropped(attention.kernel, q, k, v)
    below = float((-weights).clamp(min=0).max())
    excess = outside(out[0], v[0], generator)
    together = v[0].transpose(0, 1).flatten(1)
    near = torch.tensor([0.0, 2.0], dtype=torch.float16).view(1, 1, 2, 1)
    asking = torch.full_like(near[:, :, 1:], APART / 2 * attention.d_head**0.5)
    narrow = weights_of(attention.kernel, asking, near, near, Mask(), None)
    return {
        "average_error": float(np.max([largest(out - weights @ v), below, excess])),
        "average_control": largest(out - weights @ v.roll(1, 2)),
        "block_excess": outside(read(attention, x, x), together, generator),
        "row_error": largest(weights.sum(-1) - 1),
        "dropout_row_error": largest(training.sum(-1) - 1),
        "float16_zeros": float((narrow == 0).sum()),
    }


def dropped(kernel: Kernel, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Return the weights of a kernel in training mode, always with the same dropout mask."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return weights_of(copy.deepcopy(kernel).train(), q, k, v, Mask(), None)


def outside(
    points: Float[Tensor, "*H Q W"], values: Float[Tensor, "*H K W"], generator: torch.Generator
) -> float:
    """Return the largest distance by which a point lies outside the convex hull of the values,
    along any tested direction.
    """
    width = values.size(-1)
    drawn = torch.randn(width, DIRECTIONS, generator=generator, dtype=values.dtype)
    axes = torch.eye(width, dtype=values.dtype)
    directions = torch.cat([drawn / drawn.norm(dim=0), axes, -axes], 1)
    farthest = (values @ directions).amax(-2, keepdim=True)
    return float((points @ directions - farthest).clamp(min=0).max())


def rows(kernel: Kernel, heads: Heads, across: Float[Tensor, "H R S"]) -> dict[str, float]:
    """Return measurements of the score matrix, in which each row belongs to a query and each column
    to a key.

    Args:
        kernel: the attention kernel.
        heads: queries, keys and values of one sentence.
        across: scores between the words of two sentences.

    Returns:
        not_square: 1 if the scores of a sentence with itself are not a square matrix, else 0.
        cross_not_square: 1 if the scores between two sentences are not a square matrix, else 0.
        other_rows: largest change of the weights of all other queries if one query changes.
        row_control: largest change of the weights of the query that changes.
        unequal_accepted: number of tested calls with fewer or more values than keys that the
            kernel accepts.
    """
    q, k, v = heads
    asked = q.clone()
    asked[:, 0] = -q[:, 0]
    before, after = (
        weights_of(kernel, z[None], k[None], v[None], Mask(), None) for z in (q, asked)
    )
    moved = (after - before).abs().amax((0, 1, 3))
    # torch's kernel reads as many keys as there are values, also behind the last key
    n, (room, values) = v.size(1), (torch.cat([of, of], 1) for of in (k, v))
    unequal = [values[:, :m] for m in {1, n - 1, n + 1, 2 * n}]
    return {
        "not_square": float((q @ k.mT).shape != (len(q), q.size(1), q.size(1))),
        "cross_not_square": float(across.size(1) != across.size(2)),
        "other_rows": float(moved[1:].max()),
        "row_control": float(moved[0]),
        "unequal_accepted": float(sum(not refused(kernel, q, room[:, :n], of) for of in unequal)),
    }


def refused(kernel: Kernel, q: Tensor, k: Tensor, v: Tensor) -> bool:
    """Return whether a kernel raises an error for these queries, keys and values."""
    return raises(lambda: kernel(q[None], k[None], v[None], Mask(), None))


def raises(compute: Callable[[], Tensor]) -> bool:
    """Return whether a computation raises a RuntimeError or a TypeError."""
    try:
        compute()
    except (RuntimeError, TypeError):  # from torch, or from shape checks
        return True
    return False


def projections(
    attention: MultiHeadAttention, x: Float[Tensor, "Q D"], square: Float[Tensor, "D D"]
) -> dict[str, float]:
    """Return the largest differences between the queries, keys and values that an attention module
    computes and other ways to compute them.

    W is the weight of the projection to queries, as torch stores it or transposed. The rows of X
    are words.

    Returns:
        left_refused: 1 if W X raises an error when the number of words is not the width, else 0.
        left_error: difference between W X and the queries without their bias, if the number of
            words is the width; W is transposed if this makes the difference smaller.
        columns_error: difference between W X^T, in which each column is a word, and the transpose
            of the queries without their bias; 0 up to rounding.
        layer_error: difference between queries, keys or values and a linear layer that is applied
            word by word.
        layer_control: difference between queries, keys or values and their layer applied to other
            words; the smallest of the three differences.
        bias_moves: difference between queries, keys or values and X W; the smallest of the three
            differences. It is due to the bias.
    """
    maps = (attention.query, attention.key, attention.value)
    weight, bias = attention.query.weight, attention.query.bias
    given = side_by_side(attention, x)
    alone = [torch.stack([affine(of, word) for word in x]) for of in maps]
    plain, plain_square = given[0] - bias, side_by_side(attention, square)[0] - bias
    pairs = list(zip(given, alone, strict=True))
    return {
        "left_refused": float(raises(lambda: weight @ x)),
        "left_error": float(
            np.min([largest(of @ square - plain_square) for of in (weight, weight.T)])
        ),
        "columns_error": largest((weight @ x.T).T - plain),
        "layer_error": float(np.max([largest(of - layer) for of, layer in pairs])),
        "layer_control": float(np.min([largest(of - layer.roll(1, 0)) for of, layer in pairs])),
        "bias_moves": float(
            np.min([largest(of - x @ m.weight.T) for of, m in zip(given, maps, strict=True)])
        ),
    }


def side_by_side(
    attention: MultiHeadAttention, x: Float[Tensor, "L D"]
) -> list[Float[Tensor, "L E"]]:
    """Return the queries, keys and values of a module, with the heads side by side."""
    return [of.transpose(0, 1).flatten(1) for of in projected(attention, x, x)]


def means(kernel: Kernel, heads: Heads) -> dict[str, float]:
    """Return how much the outputs of attention differ between queries: the largest difference from
    the first query's output.

    Returns:
        mean_spread: difference if all words have equal weights.
        causal_mean_spread: difference if a word and all earlier words have equal weights.
        softmax_spread: difference with the weights of the model.
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
    """Return the largest absolute value of a tensor."""
    return float(difference.abs().max())
