"""Whole stacks against torch.nn.Transformer: outputs and gradients."""

import pytest
import torch
from torch import nn

CLOSE = {"rtol": 1e-5, "atol": 1e-5}


def attention_pairs(ours, theirs):
    """Pair each parameter of an attention with the slice of torch's that it must equal."""
    for number, part in enumerate((ours.query, ours.key, ours.value)):
        rows = slice(32 * number, 32 * (number + 1))
        yield part.weight, theirs.in_proj_weight, rows
        yield part.bias, theirs.in_proj_bias, rows
    yield ours.output.weight, theirs.out_proj.weight, slice(None)
    yield ours.output.bias, theirs.out_proj.bias, slice(None)


def module_pairs(ours, theirs):
    """Pair the parameters of two linear maps or norms."""
    yield from (
        (a, b, slice(None)) for a, b in zip(ours.parameters(), theirs.parameters(), strict=True)
    )


def pairs(ours, theirs):
    """Pair all parameters of a stack."""
    norms = iter(ours.residual.norms)
    for layer, other in zip(ours.layers, theirs.layers, strict=True):
        yield from attention_pairs(layer["self_attention"], other.self_attn)
        if hasattr(other, "multihead_attn"):
            yield from attention_pairs(layer["cross_attention"], other.multihead_attn)
        yield from module_pairs(layer["feed_forward"].inner, other.linear1)
        yield from module_pairs(layer["feed_forward"].outer, other.linear2)
        for number in range(1, len(layer) + 1):
            yield from module_pairs(next(norms), getattr(other, f"norm{number}"))
    if theirs.norm is not None:
        yield from module_pairs(ours.residual.final_norm, theirs.norm)


def torch_stacks(pre_ln):
    layer = {"dropout": 0.0, "batch_first": True, "norm_first": pre_ln}
    norm = nn.LayerNorm(32) if pre_ln else None  # nn.Transformer would end Post-LN with one too
    encoder = nn.TransformerEncoder(
        nn.TransformerEncoderLayer(32, 4, 48, **layer), 2, norm, enable_nested_tensor=False
    )
    norm = nn.LayerNorm(32) if pre_ln else None
    return encoder, nn.TransformerDecoder(nn.TransformerDecoderLayer(32, 4, 48, **layer), 2, norm)


@pytest.mark.parametrize(
    "residual, attention, causal",
    [
        *((residual, a, True) for residual in ("post_ln", "pre_ln") for a in ("fused", "explicit")),
        ("pre_ln", "fused", False),
    ],
)
def test_outputs_and_gradients(transformer, residual, attention, causal):
    from ablate.model.sublayer import Memory

    model = transformer(residual, attention, causal)
    encoder, decoder = torch_stacks(residual == "pre_ln")
    everything = [*pairs(model.encoder, encoder), *pairs(model.decoder, decoder)]
    assert sum(ours.numel() for ours, _, _ in everything) == sum(
        p.numel() for stack in (encoder, decoder) for p in stack.parameters()
    )
    with torch.no_grad():
        for ours, theirs, rows in everything:
            theirs[rows] = ours
    src, tgt = torch.randn(3, 7, 32), torch.randn(3, 5, 32)
    src_real = torch.arange(7) < torch.tensor([7, 4, 2])[:, None]
    tgt_real = torch.arange(5) < torch.tensor([3, 5, 1])[:, None]

    states = model.encoder(src, src_real)
    out = model.decoder(tgt, tgt_real, Memory(states, src_real))
    their_states = encoder(src, src_key_padding_mask=~src_real)
    their_out = decoder(
        tgt,
        their_states,
        tgt_mask=torch.ones(5, 5, dtype=torch.bool).triu(1) if causal else None,
        tgt_key_padding_mask=~tgt_real,
        memory_key_padding_mask=~src_real,
    )
    torch.testing.assert_close(states, their_states, **CLOSE)
    torch.testing.assert_close(out, their_out, **CLOSE)

    direction = torch.randn_like(out) * tgt_real[:, :, None] / out.numel() ** 0.5
    (out * direction).sum().backward()
    (their_out * direction).sum().backward()
    for ours, theirs, rows in everything:
        torch.testing.assert_close(ours.grad, theirs.grad[rows], **CLOSE)
