"""Fused and explicit attention: masks, fills, scales."""

import pytest
import torch

FILLS = ["minus_inf", "large_negative", "zero_output"]


def explicit(fill="zero_output", scale="sqrt_d_head"):
    from ablate.model.attention.explicit import Explicit

    return Explicit(d_head=4, dropout=0.0, scale=scale, fill=fill)


def fused(scale="sqrt_d_head", dropout=0.0):
    from ablate.model.attention.fused import Fused

    return Fused(d_head=4, dropout=dropout, scale=scale, fill="zero_output")


def tensors(n_keys):
    q = torch.randn(2, 3, 5, 4, requires_grad=True)
    k, v = (torch.randn(2, 3, n_keys, 4, requires_grad=True) for _ in range(2))
    return q, k, v


def masks(n_keys):
    """Return masks of all the kinds that paddings make, no row fully masked but with queries."""
    from ablate.model.padding import Mask

    keys = torch.arange(n_keys) < torch.tensor([n_keys, 2])[:, None]
    queries = torch.arange(5) < torch.tensor([3, 5])[:, None]
    return {
        "none": Mask(),
        "columns": Mask(keys=keys),
        "rows": Mask(queries=queries),
        "both": Mask(queries, keys),
    }


def weights(kernel, q, k, mask):
    """Return the weights of a kernel, which are what it makes of an identity matrix."""
    from ablate.model.attention import weights_of

    return weights_of(kernel, q, k, k, mask, None)


@pytest.mark.parametrize("scale", ["sqrt_d_head", "d_head"])
@pytest.mark.parametrize("n_keys", [6, 49])  # of 49 torch's own kernel takes care
@pytest.mark.parametrize("mask", ["none", "columns", "rows", "both"])
def test_fused_equals_explicit_with_gradients(mask, n_keys, scale):
    inputs, keep = tensors(n_keys), masks(n_keys)[mask]
    results = []
    for kernel in (fused(scale), explicit("zero_output", scale)):
        out = kernel(*inputs, keep, None)
        results.append((out, *torch.autograd.grad(out.square().sum(), inputs)))
    for tensor, expected_tensor in zip(*results, strict=True):
        torch.testing.assert_close(tensor, expected_tensor, rtol=1e-4, atol=1e-5)
        assert tensor.isfinite().all()


def test_the_kernel_gets_an_entry_of_the_mask_for_every_key(monkeypatch):
    """CUDA's kernels refuse a mask with a single column for all keys."""
    masks_seen = []

    def spy(q, k, v, keep, rate, *, scale):
        masks_seen.append(keep)
        return torch.zeros_like(q)

    monkeypatch.setattr("torch.nn.functional.scaled_dot_product_attention", spy)
    for mask in ("rows", "columns", "both"):
        fused()(*tensors(49), masks(49)[mask], None)
    fused()(*tensors(49), masks(49)["rows"], torch.zeros(1, 3, 5, 1))
    assert [(keep.size(3), keep.stride(3)) for keep in masks_seen] == [(49, 1)] * 4


def test_float64_stays_float64():
    q, k, v = (tensor.detach().double() for tensor in tensors(6))
    out = explicit()(q, k, v, masks(6)["none"], None)
    expected = (q @ k.transpose(2, 3) / 2).softmax(-1)
    torch.testing.assert_close(out, expected @ v, rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("option", ["cosine", "delta_rule"])
@torch.no_grad()
def test_unused_slots_of_a_cache_do_no_harm_in_float16(option):
    from ablate.testing.model import model_config, small_model

    model = small_model(model_config(f"model/attention={option}")).half()
    state = model.start(torch.full((2, 3), 5), beams=2)
    assert model.step(torch.full((4,), 6), state).isfinite().all()


@pytest.mark.parametrize("n_keys", [6, 16])
@pytest.mark.parametrize("fill", FILLS)
def test_a_fully_masked_row(fill, n_keys):
    q, k, v = tensors(n_keys)
    keep = masks(n_keys)["both"]  # the last two queries of the first sentence keep nothing
    out = explicit(fill)(q, k, v, keep, None)
    empty = out[0, :, 3:]
    if fill == "minus_inf":
        assert empty.isnan().all()
    else:
        mean = v[0].mean(1, keepdim=True).expand_as(empty)
        expected = mean if fill == "large_negative" else torch.zeros_like(empty)
        torch.testing.assert_close(empty, expected)
    assert out[1].isfinite().all()
    assert (weights(explicit(fill), q, k, keep)[1, :, :, 2:] == 0).all()
