"""Linear maps in blocks against torch's, forward and gradients; the residual stream's type."""

import pytest
import torch
from torch.nn import functional as F

from ablate.model.layers import BLOCK, Linear, stacked_linear


def parts(multiply, shape, dtype):
    """Return what a linear map gives, and its three gradients."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(*shape, 12, generator=generator).to(dtype).requires_grad_()
    weight = torch.randn(7, 12, generator=generator).requires_grad_()
    bias = torch.randn(7, generator=generator).requires_grad_()
    y = multiply(x, weight, bias)
    (y.float() ** 2).sum().backward()
    return y.detach(), x.grad, weight.grad, bias.grad


def ours(x, weight, bias):
    layer = Linear(12, 7)
    layer.weight, layer.bias = (torch.nn.Parameter(part.detach()) for part in (weight, bias))
    y = layer(x)
    layer.weight.register_hook(lambda grad: setattr(weight, "grad", grad))
    layer.bias.register_hook(lambda grad: setattr(bias, "grad", grad))
    return y


@pytest.mark.parametrize("shape", [(1,), (BLOCK,), (3, BLOCK - 1), (2, 3, 5)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_blocks_give_what_autocast_gives(shape, dtype):
    with torch.autocast("cpu", torch.bfloat16):
        results, expected = parts(ours, shape, dtype), parts(F.linear, shape, dtype)
    for part, reference in zip(results, expected, strict=True):
        assert part.dtype == reference.dtype
        assert part.shape == reference.shape
        assert (part - reference).norm() <= 0.01 * reference.norm()


def three_maps():
    """Return inputs and three weights with 2, 3 and 2 rows, and a bias for all of them."""
    generator = torch.Generator().manual_seed(0)
    shapes = [(2, 5, 12), (2, 12), (3, 12), (2, 12), (7,)]
    x, *weights, bias = (torch.randn(shape, generator=generator) for shape in shapes)
    return (
        x.requires_grad_(),
        [weight.requires_grad_() for weight in weights],
        bias.requires_grad_(),
    )


@pytest.mark.parametrize("biased", [True, False])
@pytest.mark.parametrize("frozen", [(), (1,), (0, 1, 2)])
def test_stacked_weights_give_what_their_matrix_gives(onednn, biased, frozen):
    x, weights, bias = three_maps()
    for i in frozen:
        weights[i].requires_grad_(False)
    trained = [x, *(weight for weight in weights if weight.requires_grad), *([bias] * biased)]
    results = []
    for multiply in (stacked_linear, lambda x, parts, bias: F.linear(x, torch.cat(parts), bias)):
        y = multiply(x, weights, bias if biased else None)
        results.append([y, *torch.autograd.grad((y**2).sum(), trained)])
    for result, expected in zip(*results, strict=True):
        torch.testing.assert_close(result, expected, rtol=1e-5, atol=1e-4)


def test_under_bf16_the_residual_stream_is_bfloat16(build_model, batch):
    model = build_model()
    src, tgt = batch
    assert model.encode(src).states.dtype == torch.float32
    with torch.autocast("cpu", torch.bfloat16):
        memory = model.encode(src)
        assert memory.states.dtype == torch.bfloat16
        assert model.decode(tgt, memory).dtype == torch.bfloat16
