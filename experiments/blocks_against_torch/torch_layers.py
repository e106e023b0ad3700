"""Compare torch's layers with formulas: norm placement, shapes, layouts, dropout.

Equation: Post-LN LN(x + F(x)), Pre-LN x + F(LN(x)), and the literal "norm before the addition", x +
    LN(F(x)).
Source: torch.nn.TransformerEncoderLayer, TransformerDecoderLayer and MultiheadAttention, installed.
What differs: random weights and sizes in float64; the encoder's fast path in float32.
What to expect: norm_first is Pre-LN. A sequence-first module that receives batch-first data attends
    over the batch without an error.
"""

import warnings
from collections.abc import Callable
from typing import Annotated, Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from ablate.config.limits import Range
from ablate.model.transformer import Transformer
from experiments.shared.probe.draws import Measured, RandomModels, moved, seeded

DROPOUT = 0.5
SENTENCES = 2  # fewer than the shortest number of tokens, so that shapes differ


class TorchLayers(RandomModels):
    """A probe of torch's layers with random sizes and weights; the model is ignored."""

    length: Annotated[int, Range(4)]
    largest = (
        *("post_of_post", "pre_of_pre", "wrong_shapes", "wrong_shapes_per_head"),
        *("wrong_shapes_batch_first", "layouts", "dropout_difference", "fast_shape"),
        "fast_padding",
    )
    smallest = (
        *("pre_of_post", "literal_of_pre", "post_of_pre", "shape_differs", "misused"),
        *("dropout_row_error", "scores_dropped"),
    )

    def draw(self, model: Transformer, generator: torch.Generator) -> Measured:
        """Yield the measurements of layers of one random size.

        L and S are the numbers of queries and keys, N is the number of sentences, and E is the
        width.

        Yields:
            FORM_of_ORDER, such as post_of_pre: difference between torch's layers with
                norm_first=False (ORDER post) or True (ORDER pre) and a formula (FORM): post for
                Post-LN, pre for Pre-LN, literal for "norm before the addition".
            wrong_shapes: number of results of a sequence-first nn.MultiheadAttention (output and
                mean weights) whose shapes are not (L, N, E) and (N, L, S).
            wrong_shapes_per_head: the same number if the weights of each head are returned.
            wrong_shapes_batch_first: the same number for a batch-first module.
            shape_differs: number of results of the sequence-first module whose shapes are not (N,
                L, E) and (L, N, S).
            layouts: difference between the outputs of a batch-first module and of a sequence-first
                module.
            misused: change of the first sentence's output when the second sentence changes, if a
                sequence-first module receives batch-first data.
            dropout_difference: largest distance of the factor by which dropout of rate p changes an
                attention weight from the nearer of 0 and 1 / (1 - p). If no weight has one of these
                factors, the distance of the closest factor from it counts as well.
            scores_dropped: the same distance if dropout acts on the scores before the softmax. This
                is a control.
            dropout_row_error: deviation of the row sums of the weights from 1 with dropout.
            fast_shape: 1 if the encoder's output, with or without the fast path, has another shape
                than its input; else 0. The fast path skips padding.
            fast_padding: difference at padding between the outputs with and without the fast path;
                NaN if `fast_shape` is 1.
        """
        heads, width = torch.randint(1, 4, (2,), generator=generator).tolist()
        drawn = torch.randperm(self.length - 2, generator=generator)[:2] + 3
        n, m = (int(x) for x in drawn)
        sizes = (2 * heads * width, 2 * heads)  # even, as the fast path requires
        x, memory = (
            torch.randn(SENTENCES, k, sizes[0], generator=generator).double()
            for k in (n, m + self.length)
        )
        attention = nn.MultiheadAttention(*sizes).double().eval()
        normal(attention, generator)
        yield from norms(sizes, x, memory, generator)
        yield from shapes(attention, x, memory)
        yield from layouts(attention, x, memory)
        yield from dropout(attention, x, generator)
        yield from fast_path(sizes, x.float())


def normal(module: nn.Module, generator: torch.Generator) -> None:
    """Add normal noise to all parameters of a module, including biases and gains."""
    for parameter in module.parameters():
        noise = torch.randn(parameter.shape, generator=generator)
        parameter.add_(noise.to(parameter.dtype), alpha=0.3)


def norms(
    sizes: tuple[int, int], x: Tensor, memory: Tensor, generator: torch.Generator
) -> Measured:
    """Yield the differences between torch's encoder and decoder layers and three formulas of norm
    placement.

    Yields:
        FORM_of_ORDER, such as pre_of_post: difference between a layer with norm_first=False (ORDER
            post) or True (ORDER pre) and a formula: Post-LN (FORM post), Pre-LN (FORM pre), or the
            norm before the addition (FORM literal). There is no literal_of_post.
    """
    for order, forms in (("post", ("post", "pre")), ("pre", ("post", "pre", "literal"))):
        given = {"dropout": 0.0, "batch_first": True, "norm_first": order == "pre"}
        encoder = nn.TransformerEncoderLayer(*sizes, 3 * sizes[0], **given)  # type: ignore[arg-type]
        decoder = nn.TransformerDecoderLayer(*sizes, 3 * sizes[0], **given)  # type: ignore[arg-type]
        for layer in (encoder.double(), decoder.double()):
            normal(layer, generator)
            crosses = isinstance(layer, nn.TransformerDecoderLayer)
            output = layer(x, memory) if crosses else layer(x)
            for form in forms:
                yield f"{form}_of_{order}", moved(output, formula(form, layer, x, memory))


def formula(form: str, layer: Any, x: Tensor, memory: Tensor) -> Tensor:
    """Return the output of a formula with the weights of torch's layer: Post-LN (`form` "post"),
    Pre-LN ("pre"), or the norm before the addition ("literal").
    """
    parts: list[Callable[[Tensor], Tensor]] = [lambda y: layer.self_attn(y, y, y)[0]]
    if isinstance(layer, nn.TransformerDecoderLayer):
        parts.append(lambda y: layer.multihead_attn(y, memory, memory)[0])
    parts.append(lambda y: layer.linear2(layer.linear1(y).relu()))
    for number, part in enumerate(parts, start=1):
        norm = getattr(layer, f"norm{number}")
        if form == "post":
            x = norm(x + part(x))
        elif form == "pre":
            x = x + part(norm(x))
        else:
            x = x + norm(part(x))
    return x


def shapes(
    attention: nn.MultiheadAttention, x: Float[Tensor, "N L E"], memory: Float[Tensor, "N S E"]
) -> Measured:
    """Yield how many outputs of nn.MultiheadAttention have other shapes than torch's documentation
    states.

    Yields:
        wrong_shapes, shape_differs, wrong_shapes_per_head, wrong_shapes_batch_first: see
            `TorchLayers.draw`.
    """
    (n, length, width), keys = x.shape, memory.size(1)
    q, k = x.transpose(0, 1), memory.transpose(0, 1)
    first = nn.MultiheadAttention(width, attention.num_heads, batch_first=True).double()
    documented = ((length, n, width), (n, length, keys))
    for name, results, expected in (
        ("wrong_shapes", attention(q, k, k), documented),
        ("shape_differs", attention(q, k, k), ((n, length, width), (length, n, keys))),
        ("wrong_shapes_per_head", attention(q, k, k, average_attn_weights=False), documented),
        ("wrong_shapes_batch_first", first(x, memory, memory), documented),
    ):
        yield name, sum(of.shape != shape for of, shape in zip(results, expected, strict=True))


def layouts(
    attention: nn.MultiheadAttention, x: Float[Tensor, "N L E"], memory: Float[Tensor, "N S E"]
) -> Measured:
    """Yield the difference between a sequence-first and a batch-first module with the same
    weights, and the effect of batch-first data in a sequence-first module.

    Yields:
        layouts, misused: see `TorchLayers.draw`.
    """
    other = nn.MultiheadAttention(x.size(2), attention.num_heads, batch_first=True).double()
    other.load_state_dict(attention.state_dict())
    query, key = x.transpose(0, 1), memory.transpose(0, 1)
    expected = attention(query, key, key)[0].transpose(0, 1)
    yield "layouts", moved(other(x, memory, memory)[0], expected)
    changed = torch.cat([x[:1], x[1:].flip(1)])
    yield "misused", moved(*(attention(y, y, y)[0][0] for y in (x, changed)))


def dropout(
    attention: nn.MultiheadAttention, x: Float[Tensor, "N L E"], generator: torch.Generator
) -> Measured:
    """Compare the attention weights that a module returns with dropout and without dropout.

    Yields:
        dropout_difference, scores_dropped, dropout_row_error: see `TorchLayers.draw`.
    """
    query = x.transpose(0, 1)
    plain = attention.eval()(query, query, query, average_attn_weights=False)[1]
    attention.dropout = DROPOUT
    with seeded(generator):
        weights = attention.train()(query, query, query, average_attn_weights=False)[1]
        # the logarithms of the weights are scores with these weights
        on_scores = F.dropout(plain.log(), DROPOUT).softmax(-1)
    attention.eval().dropout = 0.0

    for name, dropped in (("dropout_difference", weights), ("scores_dropped", on_scores)):
        factors = dropped / plain
        apart = torch.stack([factors.abs(), (factors - 1 / (1 - DROPOUT)).abs()])
        yield name, torch.maximum(apart.amin(0).max(), apart.flatten(1).amin(1).max())
    yield "dropout_row_error", moved(weights.sum(-1), 1.0)


def fast_path(sizes: tuple[int, int], x: Float[Tensor, "N L E"]) -> Measured:
    """Compare torch's encoder with and without its fast path, which skips padding.

    Yields:
        fast_shape, fast_padding: see `TorchLayers.draw`.
    """
    layer = nn.TransformerEncoderLayer(*sizes, 3 * sizes[0], batch_first=True)
    fast, plain = (
        nn.TransformerEncoder(layer, 1, enable_nested_tensor=nested).eval()
        for nested in (True, False)
    )
    plain.load_state_dict(fast.state_dict())
    padding = torch.zeros(x.shape[:2], dtype=torch.bool)
    padding[1:, -2:] = True
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns that nested tensors are a prototype
        first, other = (stack(x, src_key_padding_mask=padding) for stack in (fast, plain))
    same = first.shape == other.shape == x.shape
    yield "fast_shape", not same
    yield "fast_padding", moved(first[padding], other[padding]) if same else torch.nan
