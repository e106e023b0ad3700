"""The probe of dot products, against what theory says of independent normal numbers."""

import pytest
import torch

from experiments.dot_products.probe import trace


@pytest.mark.parametrize("width", [4, 64])
def test_variance_and_kurtosis_are_those_of_theory(measure, width):
    metrics = measure("dot_products", f"model.d_head={width}", rows=4000)
    assert metrics["variance_ratio"] == pytest.approx(1, abs=0.05)
    assert metrics["variance_error"] == abs(metrics["variance_ratio"] - 1)
    assert metrics["kurtosis"] == pytest.approx(6 / width, rel=0.25, abs=0.05)


def test_scaling_keeps_the_gradient_of_the_softmax(measure):
    narrow, wide = (measure("dot_products", f"model.d_head={d}", rows=300) for d in (4, 256))
    assert wide["trace"] < narrow["trace"] / 2
    assert wide["trace_scaled"] == pytest.approx(narrow["trace_scaled"], abs=0.03)


def test_the_trace_is_that_of_the_jacobian():
    scores = torch.randn(1, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    jacobian = torch.autograd.functional.jacobian(lambda s: s.softmax(-1), scores[0])
    assert trace(scores) == pytest.approx(float(jacobian.trace()))
