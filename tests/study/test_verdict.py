"""The rules, on effects whose interval is known."""

import numpy as np
import pytest

from ablate.study.estimate import estimate
from ablate.study.verdict import decide, on_scale_of_alpha, one_sided

SPREAD = np.array([-1.0, -0.5, 0.0, 0.5, 1.0])
HALF = 0.98  # of the 95 % interval of SPREAD around its mean; 0.75 of the 90 % interval


def verdict(claim, effect):
    found = estimate(effect + SPREAD)
    assert found.interval(0.95) == pytest.approx((effect - HALF, effect + HALF), abs=0.01)
    p = on_scale_of_alpha(claim, one_sided(claim, found))
    return decide(claim, found.effect, p, claim["alpha"])


@pytest.mark.parametrize(
    ("effect", "margin", "expected"),
    [
        (2.0, 1.0, "supported"),
        (1.0, 0.0, "supported"),
        (0.9, 0.0, "inconclusive"),  # the interval reaches 0
        (1.0, 1.5, "inconclusive"),  # above 0, but the mean is below the margin
        (1.0, 2.1, "refuted"),  # real, but smaller than worth naming
        (-0.5, 0.5, "refuted"),
        (-0.4, 0.5, "inconclusive"),
        (-1.0, 0.0, "refuted"),
        (0.0, 0.0, "inconclusive"),
    ],
)
@pytest.mark.parametrize("kind", ["superiority", "trend", "stability"])
def test_superiority_reads_the_two_sided_interval(claim, kind, effect, margin, expected):
    assert verdict(claim(kind=kind, margin=margin), effect) == expected


@pytest.mark.parametrize(
    ("effect", "margin", "expected"),
    [
        (0.0, 0.8, "supported"),  # the 90 % interval counts, the 95 % one would reach out
        (0.0, 0.7, "inconclusive"),
        (0.5, 1.3, "supported"),
        (-0.5, 1.2, "inconclusive"),
        (2.0, 1.0, "refuted"),
        (-2.0, 1.0, "refuted"),
        (1.9, 1.0, "inconclusive"),  # outside by the 90 % interval only
    ],
)
def test_equivalence_is_two_one_sided_tests(claim, effect, margin, expected):
    assert verdict(claim(kind="equivalence", margin=margin), effect) == expected


def test_a_whole_number_is_a_margin_too(claim):
    assert verdict(claim(margin=1), 2.0) == "supported"
