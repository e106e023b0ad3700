"""Products by oneDNN against those of torch's BLAS, forward and gradients."""

import pytest
import torch
from torch.nn import functional as F

from ablate.model.layers import choose_products, is_by_onednn, stacked_linear


def parts(multiply, shape, *, biased=True, strided=False, width=7):
    """Return what a map gives, and the gradients of what it is given."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(*shape, 24, generator=generator)
    x = (x[..., ::2] if strided else x[..., :12].clone()).requires_grad_()
    weight = torch.randn(width, 12, generator=generator).requires_grad_()
    bias = torch.randn(width, generator=generator).requires_grad_() if biased else None
    y = multiply(x, weight, bias)
    given = [x, weight, *([bias] if biased else [])]
    return [y, *torch.autograd.grad((y**2).sum(), given)]


@pytest.mark.parametrize("shape", [(1,), (2, 3, 5), (0, 3)])
@pytest.mark.parametrize("how", [{}, {"biased": False}, {"strided": True}, {"width": 30}])
def test_onednn_gives_what_torch_gives(onednn, shape, how):
    results = parts(lambda x, w, b: stacked_linear(x, [w], b), shape, **how)
    expected = parts(F.linear, shape, **how)
    for result, reference in zip(results, expected, strict=True):
        assert result.shape == reference.shape and result.dtype == reference.dtype
        torch.testing.assert_close(result, reference, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize(("instructions", "by_onednn"), [("AVX512", True), ("AVX2", False)])
def test_auto_is_the_faster_library(onednn, monkeypatch, instructions, by_onednn):
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: instructions)
    choose_products("auto")
    assert is_by_onednn(torch.ones(2, 2)) == by_onednn
