"""The rules, on effects whose interval is known."""

import numpy as np
import pytest

from ablate.stats.estimate import estimate
from ablate.verdict.kinds import KINDS
from ablate.verdict.types import DIRECTION, LARGE, OPPOSITE, SMALL

SPREAD = np.array([-1.0, -0.5, 0.0, 0.5, 1.0])
HALF = 0.98  # of the 95 % interval of SPREAD around its mean; 0.75 of the 90 % interval
INCONCLUSIVE = ("inconclusive", "")


def verdict(kind, effect, margin):
    difference = estimate(effect + SPREAD)
    assert difference.interval(0.95) == pytest.approx((effect - HALF, effect + HALF), abs=0.01)
    decision = KINDS[kind].decide_uncorrected(difference, margin, 0.05)
    return decision.status, decision.grade


@pytest.mark.parametrize(
    ("effect", "margin", "expected"),
    [
        (2.0, 1.0, ("supported", LARGE)),  # the interval begins above the margin
        (1.9, 1.0, ("supported", DIRECTION)),
        (1.0, 1.5, ("supported", DIRECTION)),  # the interval reaches the margin, the mean does not
        (1.0, 0.0, ("supported", DIRECTION)),  # nothing smaller is named
        (0.9, 0.0, INCONCLUSIVE),  # the interval reaches 0
        (0.9, 1.0, INCONCLUSIVE),
        (1.0, 2.1, ("refuted", SMALL)),
        (0.5, 2.1, ("refuted", SMALL)),  # perhaps not there at all
        (-0.5, 0.5, ("refuted", SMALL)),
        (-1.1, 0.5, ("refuted", OPPOSITE)),
        (-9.0, 3.0, ("refuted", OPPOSITE)),
        (-0.4, 0.5, INCONCLUSIVE),
        (-1.0, 0.0, ("refuted", OPPOSITE)),
        (0.0, 0.0, INCONCLUSIVE),
    ],
)
@pytest.mark.parametrize("kind", ["superiority", "trend", "stability"])
def test_superiority_reads_the_two_sided_interval(kind, effect, margin, expected):
    assert verdict(kind, effect, margin) == expected


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
def test_equivalence_is_two_one_sided_tests(effect, margin, expected):
    assert verdict("equivalence", effect, margin) == (expected, "")


@pytest.mark.parametrize(
    ("effect", "margin", "expected"),
    [
        (0.0, 1.0, "supported"),
        (0.0, 0.9, "inconclusive"),  # by the two-sided interval
        (50.0, 1.0, "supported"),  # never refuted by being better
        (-1.0, 2.1, "supported"),
        (-1.9, 1.0, "inconclusive"),
        (-2.0, 1.0, "refuted"),
    ],
)
def test_non_inferiority_is_one_sided(effect, margin, expected):
    assert verdict("non_inferiority", effect, margin) == (expected, "")


@pytest.mark.parametrize("kind", ["superiority", "trend", "equivalence", "non_inferiority"])
@pytest.mark.parametrize("effect", [-3.0, -0.9, 0.5, 4.0])
def test_the_sensitivity_is_what_the_rule_says_of_every_margin(kind, effect):
    difference = estimate(effect + SPREAD)
    turns = KINDS[kind].decision_thresholds(difference, 0.05)
    assert turns[0]["from"] == 0 and turns == sorted(turns, key=lambda turn: turn["from"])
    for margin in np.arange(0.013, 7.0, 0.31):
        band = [turn for turn in turns if turn["from"] <= margin][-1]
        decision = KINDS[kind].decide_uncorrected(difference, margin, 0.05)
        assert (decision.status, decision.grade) == (band["verdict"], band["grade"]), margin
