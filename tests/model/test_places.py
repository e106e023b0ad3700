"""A component that is chosen for one attention or one stack acts there and nowhere else."""

import pytest
import torch


def kernels(model):
    return {name: type(kernel).__name__ for name, kernel in model.attentions()}


@pytest.mark.parametrize("place", ["encoder.self", "decoder.self", "decoder.cross"])
def test_attention_of_one_kind(build_model, place):
    stack, kind = place.split(".")
    section = "cross" if kind == "cross" else stack
    model = build_model(f"model/attention@model.{section}.attention=uniform")
    for name, kernel in kernels(model).items():
        of_kind = name.startswith(stack) and name.endswith(kind)
        assert kernel == ("Uniform" if of_kind else "Fused")


@torch.no_grad()
def test_padding_of_the_decoder_alone(build_model, batch):
    """Left out there it changes nothing real: the causal mask hides padding on the right."""
    plain, other = (
        build_model(*choice).eval()
        for choice in ((), ("model/padding@model.decoder.padding=none",))
    )
    types = {
        name: type(sublayer.padding).__name__
        for name, sublayer in other.named_modules()
        if hasattr(sublayer, "padding")
    }
    for name, padding in types.items():
        assert padding == ("NoPadding" if "decoder" in name and "self" in name else "Columns")
    src, tgt_in = batch
    real = tgt_in != 0
    torch.testing.assert_close(other(batch)[real], plain(batch)[real])
    assert torch.equal(other.encode(src).states, plain.encode(src).states)
