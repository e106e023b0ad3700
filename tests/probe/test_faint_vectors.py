"""The probe of norms on vectors of hardly any variance."""

import pytest


@pytest.mark.parametrize(("deviation", "moments"), [(1.0, 0.0), (0.01, 1 / 11), (0.0, 1.0)])
def test_eps_counts_where_there_is_hardly_any_variance(measure, deviation, moments):
    metrics = measure("faint_vectors", deviation=deviation, draws=2, length=3)
    assert metrics["moments"] == pytest.approx(moments, abs=0.1 * moments + 1e-4)


def test_vectors_are_not_normal_on_their_own(measure):
    assert measure("faint_vectors", "model/norm=none", draws=2, length=3)["moments"] > 1
    assert measure("faint_vectors", draws=2, length=3)["without"] > 1
