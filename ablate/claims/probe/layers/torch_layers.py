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
from dataclasses import dataclass
from typing import Annotated, Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from ablate.claims.probe.dependence.wires import moved
from ablate.claims.probe.random_models import ExtremesOfModels, seeded
from ablate.config.limits import Range
from ablate.model.transformer import Transformer

DROPOUT = 0.5
SENTENCES = 2  # fewer than the shortest number of tokens, so that shapes differ


@dataclass(kw_only=True)
class TorchLayers(ExtremesOfModels):
    """A probe of torch's layers with random sizes and weights; the model is ignored."""

    length: Annotated[int, Range(4)]
    least = (
        *("pre_of_post", "literal_of_pre", "post_of_pre", "shape_differs", "misused"),
        *("dropout_row_error", "scores_dropped"),
    )
    measures = (
        *("post_of_post", "pre_of_post", "pre_of_pre", "post_of_pre", "literal_of_pre"),
        *("wrong_shapes", "shape_differs", "wrong_shapes_per_head", "wrong_shapes_batch_first"),
        *("layouts", "misused", "dropout_difference", "scores_dropped", "dropout_row_error"),
        *("fast_shape", "fast_padding"),
    )

    @torch.no_grad()
    def draw(self, model: Transformer, generator: torch.Generator) -> dict[str, float | Tensor]:
        """Return the measurements for layers of one random size.

        L and S are the numbers of queries and keys, N is the number of sentences, and E is the
        width.

        Returns:
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
        return {
            **norms(sizes, x, memory, generator),
            **shapes(attention, x, memory),
            **layouts(attention, x, memory),
            **dropout(attention, x, generator),
            **fast_path(sizes, x.float(), generator),
        }


def normal(module: nn.Module, generator: torch.Generator) -> None:
    """Add normal noise to all parameters of a module, including biases and gains."""
    for parameter in module.parameters():
        noise = torch.randn(parameter.shape, generator=generator)
        parameter.add_(noise.to(parameter.dtype), alpha=0.3)


def norms(
    sizes: tuple[int, int], x: Tensor, memory: Tensor, generator: torch.Generator
) -> dict[str, Tensor]:
    """Return the differences between torch's encoder and decoder layers and three formulas of norm
    placement.

    Returns:
        FORM_of_ORDER, such as pre_of_post: difference between the layers with norm_first=False
            (ORDER post) or True (ORDER pre) and a formula: Post-LN (FORM post), Pre-LN (FORM pre),
            or the norm before the addition (FORM literal). If FORM and ORDER are equal, it is the
            larger difference of encoder and decoder layer, otherwise the smaller difference. There
            is no literal_of_post.
    """
    differences: dict[str, list[Tensor]] = {}
    for order in ("post", "pre"):
        given = {"dropout": 0.0, "batch_first": True, "norm_first": order == "pre"}
        encoder = nn.TransformerEncoderLayer(*sizes, 3 * sizes[0], **given)  # type: ignore[arg-type]
        decoder = nn.TransformerDecoderLayer(*sizes, 3 * sizes[0], **given)  # type: ignore[arg-type]
        for layer in (encoder.double(), decoder.double()):
            normal(layer, generator)
            crosses = isinstance(layer, nn.TransformerDecoderLayer)
            output = layer(x, memory) if crosses else layer(x)
            for form in ("post", "pre", "literal"):
                apart = moved(output, formula(form, layer, x, memory))
                differences.setdefault(f"{form}_of_{order}", []).append(apart)
    del differences["literal_of_post"]
    same = ("post_of_post", "pre_of_pre")
    return {
        k: (torch.stack(v).max() if k in same else torch.stack(v).min())
        for k, v in differences.items()
    }


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
) -> dict[str, float | Tensor]:
    """Return how many outputs of nn.MultiheadAttention have other shapes than torch's documentation
    states.

    Returns:
        wrong_shapes, shape_differs, wrong_shapes_per_head, wrong_shapes_batch_first: see
            `TorchLayers.draw`.
    """
    (n, length, width), keys = x.shape, memory.size(1)
    documented = [(length, n, width), (n, length, keys)]
    query, key = x.transpose(0, 1), memory.transpose(0, 1)

    def wrong(module: nn.MultiheadAttention, q: Tensor, k: Tensor, *, mean: bool = True) -> float:
        got = module(q, k, k, average_attn_weights=mean)
        return float(sum(part.shape != shape for part, shape in zip(got, documented, strict=True)))

    first = nn.MultiheadAttention(width, attention.num_heads, batch_first=True).double()
    swapped = [(n, length, width), (length, n, keys)]
    got = attention(query, key, key)
    return {
        "wrong_shapes": wrong(attention, query, key),
        "shape_differs": sum(a.shape != b for a, b in zip(got, swapped, strict=True)),
        "wrong_shapes_per_head": wrong(attention, query, key, mean=False),
        "wrong_shapes_batch_first": wrong(first, x, memory),
    }


def layouts(
    attention: nn.MultiheadAttention, x: Float[Tensor, "N L E"], memory: Float[Tensor, "N S E"]
) -> dict[str, Tensor]:
    """Return the difference between a sequence-first and a batch-first module with the same
    weights, and the effect of batch-first data in a sequence-first module.

    Returns:
        layouts, misused: see `TorchLayers.draw`.
    """
    other = nn.MultiheadAttention(x.size(2), attention.num_heads, batch_first=True).double()
    other.load_state_dict(attention.state_dict())
    query, key = x.transpose(0, 1), memory.transpose(0, 1)
    expected = attention(query, key, key)[0].transpose(0, 1)
    changed = torch.cat([x[:1], x[1:].flip(1)])
    misused = [attention(y, y, y)[0][0] for y in (x, changed)]
    return {"layouts": moved(other(x, memory, memory)[0], expected), "misused": moved(*misused)}


def dropout(
    attention: nn.MultiheadAttention, x: Float[Tensor, "N L E"], generator: torch.Generator
) -> dict[str, Tensor]:
    """Compare the attention weights that a module returns with dropout and without dropout.

    Returns:
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

    def difference(weights: Tensor) -> Tensor:
        factors = weights / plain
        apart = torch.stack([factors.abs(), (factors - 1 / (1 - DROPOUT)).abs()])
        return torch.maximum(apart.amin(0).max(), apart.flatten(1).amin(1).max())

    return {
        "dropout_difference": difference(weights),
        "scores_dropped": difference(on_scores),
        "dropout_row_error": (weights.sum(-1) - 1).abs().max(),
    }


def fast_path(
    sizes: tuple[int, int], x: Float[Tensor, "N L E"], generator: torch.Generator
) -> dict[str, float | Tensor]:
    """Compare torch's encoder with and without its fast path, which skips padding.

    Returns:
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
    return {
        "fast_shape": float(not same),
        "fast_padding": moved(first[padding], other[padding]) if same else torch.tensor(torch.nan),
    }
