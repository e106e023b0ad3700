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
from typing import Annotated

import torch
from jaxtyping import Float
from torch import Tensor

from ablate.config.limits import Range
from ablate.errors import UserError
from ablate.model.attention import Kernel, Uniform, weights_of
from ablate.model.attention.multi_head import CrossAttention, MultiHeadAttention, SelfAttention
from ablate.model.padding import Mask
from ablate.model.transformer import Transformer
from experiments.shared.probe import attention_loops as loops
from experiments.shared.probe.attention_loops import Asked, Asking, Heads, Words, projected, read
from experiments.shared.probe.divided_heads import divisibility, with_heads
from experiments.shared.probe.draws import Measured, RandomModels, first_part, moved, raises

APART = 20.0  # difference of two scores: exp(-20) underflows in float16
DIRECTIONS = 64  # number of directions in which points are compared with the convex hull of values


class AttentionAlgebra(RandomModels):
    """A probe that computes self-attention, causal self-attention and cross-attention in several
    ways and compares the results.
    """

    length: Annotated[int, Range(3)]
    smallest = (
        *("matrix_control", "average_control", "row_control", "dropout_row_error", "left_error"),
        *("softmax_spread", "view_error", "free_width_changes", "layer_control"),
    )
    largest = (
        *("matrix_error", "float32_error", "cross_error", "average_error", "block_excess"),
        *("row_error", "float16_zeros", "not_square", "cross_not_square", "other_rows"),
        *("left_refused", "columns_error", "layer_error", "bias_moves", "unequal_accepted"),
        *("mean_spread", "causal_mean_spread", "heads_error", "shape_changes"),
    )
    single = ("divisible_wrong", "divisible_reversed", "undivided", "unchecked")

    def __call__(self, model: Transformer) -> dict[str, float]:
        """Return the largest or smallest value of each measurement over all random models, and the
        measurements of `divisibility`.

        The functions of this module describe their measurements.

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

    def draw(self, model: Transformer, generator: torch.Generator) -> Measured:
        """Yield the measurements of one model with random weights, on random word vectors of two
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
        yield from forms(plain, causal, cross, x, y)
        yield from shapes((plain, causal, cross), x, y, with_heads(width, 3, width, generator))
        yield from averages(plain, x, heads, generator)
        yield from rows(plain.kernel, heads, across[0] @ across[1].mT)
        yield from projections(plain, x[: width - 1], square)
        yield from means(plain.kernel, heads)


def attentions(model: Transformer) -> tuple[SelfAttention, SelfAttention, CrossAttention]:
    """Return three attention modules of a model: its first self-attention without a causal mask,
    its first causal self-attention, and its first cross-attention.
    """
    modules = [part for part in model.modules() if isinstance(part, SelfAttention)]
    plain, causal = (next(m for m in modules if m.causal == c) for c in (False, True))
    return plain, causal, first_part(model, CrossAttention)


def forms(
    plain: SelfAttention, causal: SelfAttention, cross: CrossAttention, x: Asking, y: Asked
) -> Measured:
    """Yield the differences between attention modules and explicit loops.

    Yields:
        matrix_error: difference from a loop over words and heads.
        float32_error: the same difference in float32.
        cross_error: the same difference for cross-attention between sentences of two lengths.
        matrix_control: the same difference with the values of other words, as a control.
        heads_error: difference from a loop over heads.
        view_error: difference from heads that are split with a wrong `view`.
    """
    for attention, other in ((plain, x), (causal, x), (cross, y)):
        out, is_causal = read(attention, x, other), attention is causal
        loop = loops.by_position(attention, x, other, other, causal=is_causal)
        rolled = loops.by_position(attention, x, other, other.roll(1, 0), causal=is_causal)
        half = read(copy.deepcopy(attention).float(), x.float(), other.float())
        yield "matrix_error", moved(out, loop)
        yield "matrix_control", moved(out, rolled)
        yield "float32_error", moved(half, loop)
        if attention is cross:
            yield "cross_error", moved(out, loop)
        if not is_causal:
            yield "heads_error", moved(out, loops.by_head(attention, x, other))
            yield "view_error", moved(out, loops.by_view(attention, x, other))


def shapes(
    modules: tuple[MultiHeadAttention, ...], x: Asking, y: Asked, wider: MultiHeadAttention
) -> Measured:
    """Yield whether attention keeps the shape of its input, also if its heads together have another
    width.

    Yields:
        shape_changes: number of attention modules (`modules` and `wider`) whose output has another
            shape than x.
        free_width_changes: 1 if the outputs of all heads of `wider`, before the output projection,
            have another shape than x, else 0.
    """
    q, k, v = (of[None] for of in projected(wider, x, x))
    heads = wider.kernel(q, k, v, Mask(), None)[0].transpose(0, 1).flatten(1)
    yield "shape_changes", sum(read(of, x, y).shape != x.shape for of in (*modules, wider))
    yield "free_width_changes", heads.shape != x.shape


def averages(
    attention: MultiHeadAttention, x: Asking, heads: Heads, generator: torch.Generator
) -> Measured:
    """Yield measurements of whether the outputs of attention are averages of the values.

    Yields:
        average_error: three numbers: the deviation of a head's output from the weighted sum of the
            values, the size of the most negative weight, and the distance of an output from the
            convex hull of the values.
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
    out = attention.kernel(q, k, v, Mask(), None)
    weights = weights_of(attention.kernel, q, k, v, Mask(), None)
    yield "average_error", moved(out, weights @ v)
    yield "average_error", (-weights).clamp(min=0)
    yield "average_error", outside(out[0], v[0], generator)
    yield "average_control", moved(out, weights @ v.roll(1, 2))
    together = v[0].transpose(0, 1).flatten(1)
    yield "block_excess", outside(read(attention, x, x), together, generator)
    yield "row_error", moved(weights.sum(-1), 1.0)
    yield "dropout_row_error", moved(dropped(attention.kernel, q, k, v).sum(-1), 1.0)
    near = torch.tensor([0.0, 2.0], dtype=torch.float16).view(1, 1, 2, 1)
    asking = torch.full_like(near[:, :, 1:], APART / 2 * attention.d_head**0.5)
    narrow = weights_of(attention.kernel, asking, near, near, Mask(), None)
    yield "float16_zeros", (narrow == 0).sum()


def dropped(kernel: Kernel, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Return the weights of a kernel in training mode, always with the same dropout mask."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return weights_of(copy.deepcopy(kernel).train(), q, k, v, Mask(), None)


def outside(
    points: Float[Tensor, "*H Q W"], values: Float[Tensor, "*H K W"], generator: torch.Generator
) -> Tensor:
    """Return the distances by which points lie outside the convex hull of the values, along each
    tested direction.
    """
    width = values.size(-1)
    drawn = torch.randn(width, DIRECTIONS, generator=generator, dtype=values.dtype)
    axes = torch.eye(width, dtype=values.dtype)
    directions = torch.cat([drawn / drawn.norm(dim=0), axes, -axes], 1)
    farthest = (values @ directions).amax(-2, keepdim=True)
    return (points @ directions - farthest).clamp(min=0)


def rows(kernel: Kernel, heads: Heads, across: Float[Tensor, "H R S"]) -> Measured:
    """Yield measurements of the score matrix, in which each row belongs to a query and each column
    to a key.

    Args:
        kernel: the attention kernel.
        heads: queries, keys and values of one sentence.
        across: scores between the words of two sentences.

    Yields:
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
    change = (after - before).abs().amax((0, 1, 3))
    yield "not_square", (q @ k.mT).shape != (len(q), q.size(1), q.size(1))
    yield "cross_not_square", across.size(1) != across.size(2)
    yield "other_rows", change[1:]
    yield "row_control", change[0]
    # torch's kernel reads as many keys as there are values, also behind the last key
    n, (room, values) = v.size(1), (torch.cat([of, of], 1) for of in (k, v))
    yield (
        "unequal_accepted",
        sum(not refused(kernel, q, room[:, :n], values[:, :m]) for m in {1, n - 1, n + 1, 2 * n}),
    )


def refused(kernel: Kernel, q: Tensor, k: Tensor, v: Tensor) -> bool:
    """Return whether a kernel, or a check of shapes, raises an error for these inputs."""
    return raises(lambda: kernel(q[None], k[None], v[None], Mask(), None), RuntimeError, TypeError)


def projections(attention: MultiHeadAttention, x: Asking, square: Float[Tensor, "D D"]) -> Measured:
    """Yield the largest differences between the queries, keys and values that an attention module
    computes and other ways to compute them.

    W is the weight of the projection to queries, as torch stores it or transposed. The rows of X
    are words.

    Yields:
        left_refused: 1 if W X raises an error when the number of words is not the width, else 0.
        left_error: difference between W X and the queries without their bias, if the number of
            words is the width; once for W and once for its transpose.
        columns_error: difference between W X^T, in which each column is a word, and the transpose
            of the queries without their bias; 0 up to rounding.
        layer_error: difference between queries, keys or values and a linear layer that is applied
            word by word.
        layer_control: difference between queries, keys or values and their layer applied to other
            words.
        bias_moves: difference between queries, keys or values and X W; the smallest of the three
            differences. It is due to the bias.
    """
    maps = (attention.query, attention.key, attention.value)
    weight, bias = attention.query.weight, attention.query.bias
    yield "left_refused", raises(lambda: weight @ x, RuntimeError, TypeError)
    plain_square = side_by_side(attention, square)[0] - bias
    for w in (weight, weight.T):
        yield "left_error", moved(w @ square, plain_square)
    given = side_by_side(attention, x)
    yield "columns_error", moved((weight @ x.T).T, given[0] - bias)
    for projection, of in zip(given, maps, strict=True):
        layer = torch.stack([loops.affine(of, word) for word in x])
        yield "layer_error", moved(projection, layer)
        yield "layer_control", moved(projection, layer.roll(1, 0))
    without_bias = [x @ of.weight.T for of in maps]
    yield "bias_moves", torch.stack([*map(moved, given, without_bias)]).min()


def side_by_side(attention: MultiHeadAttention, x: Words) -> list[Float[Tensor, "L E"]]:
    """Return the queries, keys and values of a module, with the heads side by side."""
    return [of.transpose(0, 1).flatten(1) for of in projected(attention, x, x)]


def means(kernel: Kernel, heads: Heads) -> Measured:
    """Yield how much the outputs of attention differ between queries: the differences from the
    first query's output.

    Yields:
        mean_spread: difference if all words have equal weights.
        causal_mean_spread: difference if a word and all earlier words have equal weights.
        softmax_spread: largest difference with the weights of the model.
    """
    q, k, v = (of[None] for of in heads)
    uniform = Uniform(d_head=q.size(3), dropout=0.0)
    for name, mix, mask in (
        ("mean_spread", uniform, Mask()),
        ("causal_mean_spread", uniform, Mask(causal=True)),
        ("softmax_spread", kernel, Mask()),
    ):
        out = mix(q, k, v, mask, None)
        yield name, moved(out, out[:, :, :1])
