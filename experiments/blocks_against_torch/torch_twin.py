"""Create torch's stacks with the weights of this project's stacks."""

import warnings
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from ablate.model.residual import PreLN
from ablate.model.stack import Stack

# parameter of this project, torch's parameter with the same weights, and the rows of these weights
Pair = tuple[nn.Parameter, nn.Parameter, slice]


def twin(stack: Stack) -> nn.TransformerEncoder | nn.TransformerDecoder:
    """Return an encoder or decoder of torch.nn with the sizes and weights of `stack`, without
    dropout.

    The stack must have Post-LN or Pre-LN, feed-forward networks with ReLU, and heads whose widths
    add up to d_model. The fast path of torch, which skips padding, is disabled.
    """
    layers: list[Any] = [*stack.layers]
    pre_ln = isinstance(stack.residual, PreLN)
    norm = nn.LayerNorm(stack.d_model) if pre_ln else None
    sizes = (stack.d_model, layers[0]["self_attention"].n_heads)
    made = {"dropout": 0.0, "batch_first": True, "norm_first": pre_ln}
    made["dim_feedforward"] = layers[0]["feed_forward"].inner.out_features
    other: nn.TransformerEncoder | nn.TransformerDecoder
    if "cross_attention" in layers[0]:
        decoder = nn.TransformerDecoderLayer(*sizes, **made)  # type: ignore[arg-type]
        other = nn.TransformerDecoder(decoder, len(layers), norm)
    else:
        encoder = nn.TransformerEncoderLayer(*sizes, **made)  # type: ignore[arg-type]
        other = nn.TransformerEncoder(encoder, len(layers), norm, enable_nested_tensor=False)
    other.to(next(stack.parameters()).dtype)
    with torch.no_grad():
        for ours, theirs, rows in pairs(stack, other):
            theirs[rows] = ours
    return other


def pairs(stack: Stack, other: nn.Module) -> Iterator[Pair]:
    """Yield every parameter of `stack` with the parameter of `other`, torch's encoder or decoder,
    that contains the same weights, and with the rows of these weights.
    """
    norms = iter(stack.residual.norms)
    theirs: Any
    layers: list[Any] = [*stack.layers]
    for layer, theirs in zip(layers, other.layers, strict=True):  # type: ignore[arg-type]
        yield from attention_pairs(layer["self_attention"], theirs.self_attn)
        if "cross_attention" in layer:
            yield from attention_pairs(layer["cross_attention"], theirs.multihead_attn)
        yield from whole(layer["feed_forward"].inner, theirs.linear1)
        yield from whole(layer["feed_forward"].outer, theirs.linear2)
        for number in range(1, len(layer) + 1):
            yield from whole(next(norms), getattr(theirs, f"norm{number}"))
    if isinstance(other.norm, nn.Module):
        yield from whole(stack.residual.final_norm, other.norm)  # type: ignore[arg-type]


def attention_pairs(ours: Any, theirs: nn.MultiheadAttention) -> Iterator[Pair]:
    """Yield every parameter of an attention module with torch's parameter that contains the same
    weights, and with the rows of these weights.

    torch stores the projections of queries, keys and values in one matrix.
    """
    width = ours.query.out_features
    for number, part in enumerate((ours.query, ours.key, ours.value)):
        rows = slice(width * number, width * (number + 1))
        yield part.weight, theirs.in_proj_weight, rows
        yield part.bias, theirs.in_proj_bias, rows
    yield from whole(ours.output, theirs.out_proj)


def whole(ours: nn.Module, theirs: nn.Module) -> Iterator[Pair]:
    """Yield every parameter of a linear layer or norm with the parameter of torch's layer that
    contains the same weights; all rows of the parameters correspond.
    """
    for ours_parameter, other in zip(ours.parameters(), theirs.parameters(), strict=True):
        yield ours_parameter, other, slice(None)


def whole_twin(
    encoder: nn.TransformerEncoder | nn.TransformerDecoder,
    decoder: nn.TransformerEncoder | nn.TransformerDecoder,
) -> nn.Transformer:
    """Return an nn.Transformer with the sizes and weights of torch's encoder and decoder.

    nn.Transformer ends both stacks with a norm. If the given stack has no such norm, this norm
    keeps its initial weights.
    """
    layer: Any = encoder.layers[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # with norm_first, torch warns that there is no fast path
        other = nn.Transformer(
            layer.linear1.in_features,
            layer.self_attn.num_heads,
            encoder.num_layers,
            decoder.num_layers,
            layer.linear1.out_features,
            dropout=0.0,
            batch_first=True,
            norm_first=layer.norm_first,
            dtype=layer.linear1.weight.dtype,
        )
    for stack, theirs in ((encoder, other.encoder), (decoder, other.decoder)):
        theirs.load_state_dict(theirs.state_dict() | stack.state_dict())
    return other


def run_twins(
    encoder: nn.Module,
    decoder: nn.Module,
    tokens: tuple[Tensor, Tensor],
    real: tuple[Tensor, Tensor],
    *,
    causal: bool = True,
) -> tuple[Tensor, Tensor]:
    """Return the outputs of torch's encoder and decoder for embedded sources and targets.

    Args:
        encoder: torch's encoder.
        decoder: torch's decoder.
        tokens: vectors of the sources and of the targets.
        real: masks of the sources and of the targets, False at padding.
        causal: whether the decoder has a causal mask.
    """
    memory = encoder(tokens[0], src_key_padding_mask=~real[0])
    later = torch.ones(tokens[1].size(1), tokens[1].size(1), dtype=torch.bool).triu(1)
    states = decoder(
        tokens[1],
        memory,
        tgt_mask=later if causal else None,
        tgt_key_padding_mask=~real[1],
        memory_key_padding_mask=~real[0],
    )
    return memory, states
