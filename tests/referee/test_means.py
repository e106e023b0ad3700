"""The tests of foreign runs are the textbook's: scipy and statsmodels have the same numbers."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.weightstats import ttost_ind

from ablate.stats.means import contrast, mean_of, slope

SIZES = [(4, 9), (2, 30), (3, 2)]
SAME = {"rel": 1e-9, "abs": 1e-15}


def samples(sizes, seed=0):
    random = np.random.default_rng(seed)
    return [random.normal(k * 0.3, 1 + k, n) for k, n in enumerate(sizes)]


def welch(arms):
    """The difference of two arms by the textbook, without the correction for skewness."""
    return replace(contrast(arms, [1.0, -1.0], "Welch"), skewness=None)


@pytest.mark.parametrize("sizes", SIZES)
def test_two_arms_are_compared_as_welch_does(sizes):
    arms = samples(sizes)
    difference, theirs = welch(arms), stats.ttest_ind(*arms, equal_var=False)
    assert difference.df == pytest.approx(theirs.df, **SAME)
    two_sided = 2 * min(difference.p_at_most(0.0), difference.p_at_least(0.0))
    assert two_sided == pytest.approx(theirs.pvalue, **SAME)
    ends = theirs.confidence_interval(0.95)
    assert difference.interval(0.95) == pytest.approx((ends.low, ends.high), **SAME)


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("margin", [0.1, 4.0])
def test_two_one_sided_tests_of_equivalence_are_those_of_statsmodels(sizes, margin):
    arms = samples(sizes, 1)
    p = ttost_ind(*arms, -margin, margin, usevar="unequal")[0]
    difference = welch(arms)
    assert max(difference.p_at_most(-margin), difference.p_at_least(margin)) == pytest.approx(
        p, **SAME
    )


@pytest.mark.parametrize("sizes", SIZES)
def test_the_corrected_interval_holds_what_its_p_value_does_not_reject(sizes):
    arms = [np.exp(arm) for arm in samples(sizes, 5)]
    difference = contrast(arms, [1.0, -1.0], "Welch")
    low, high = difference.interval(0.9)
    assert (difference.p_at_most(low), difference.p_at_least(high)) == pytest.approx(
        (0.05, 0.05), **SAME
    )


@pytest.mark.parametrize(
    ("x", "p"), [((1, 2, 3), 1 / 6), ((1, 1, 1, 2, 2, 2), 1 / 20), ((1, 1, 2, 2), 1 / 6)]
)
def test_a_slope_without_noise_has_the_p_value_of_permutations(x, p):
    levels = np.array(x, dtype=float)
    for y in (levels, 0.1 * levels + 0.7):  # the second line has rounding errors
        assert slope(levels, y, "slope").p_at_most(0.0) == pytest.approx(p)


@pytest.mark.parametrize("sizes", [(3, 8, 4, 9), (2, 30, 7, 2)])
def test_an_interaction_is_a_contrast_with_satterthwaites_degrees_of_freedom(sizes):
    arms = samples(sizes)
    variances = [arm.var(ddof=1) / len(arm) for arm in arms]
    df = sum(variances) ** 2 / sum(
        v**2 / (len(a) - 1) for v, a in zip(variances, arms, strict=True)
    )
    effect = arms[0].mean() - arms[1].mean() - arms[2].mean() + arms[3].mean()
    p = stats.t.sf(effect / math.sqrt(sum(variances)), df)
    interaction = contrast(arms, [1.0, -1.0, -1.0, 1.0], "contrast")
    interaction = replace(interaction, skewness=None)
    assert interaction.p_at_most(0.0) == pytest.approx(p, **SAME)


@pytest.mark.parametrize(("sizes", "p"), [((3, 3), 1 / 20), ((2, 4), 1 / 15), ((5, 1), None)])
def test_arms_without_any_variation_are_decided_by_their_number(sizes, p):
    arms = [np.full(sizes[0], 2.0), np.full(sizes[1], 1.0)]
    difference = welch(arms)
    assert difference.p_at_most(0.0) == pytest.approx(1.0 if p is None else p)
    assert difference.p_at_least(0.0) == 1.0
    assert math.isinf(difference.interval(0.95)[0])


@pytest.mark.parametrize("power", [-18, 0, 140])
def test_a_change_of_units_changes_no_test(power):
    random, unit = np.random.default_rng(3), 10.0**power
    a, b = random.normal(1.0, 0.1, 8), random.normal(1.05, 0.1, 7)
    for values, scaled in (
        (welch([a, b]), welch([a * unit, b * unit])),
        (mean_of(a[:7] - b, "", 1.0), mean_of((a[:7] - b) * unit, "", unit)),
        (slope(np.arange(8.0), a, ""), slope(np.arange(8.0), a * unit, "")),
    ):
        assert scaled.p_at_most(0.0) == pytest.approx(values.p_at_most(0.0), rel=1e-9)
        low, high = values.interval(0.95)
        assert scaled.interval(0.95) == pytest.approx((low * unit, high * unit), rel=1e-9, abs=0)
