"""Intervals, p-values and corrections, beside scipy, statsmodels and the tables of textbooks."""

import math

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.weightstats import ttost_paired

from ablate.stats import adjust
from ablate.stats.corrections import nominal, repeated_p_value
from ablate.stats.estimate import components, estimate
from ablate.stats.rates import Rates, p_values

PAIRS = np.random.default_rng(0).normal([3.0, 2.0], 1.0, (8, 2))
DIFFERENCES = PAIRS[:, 0] - PAIRS[:, 1]


def crossed(seeds, sentences, seed, sentence, rest, rng):
    """Contributions with these standard deviations, of the mean over the sentences."""
    parts = rng.normal(0, seed, (seeds, 1)) + rng.normal(0, sentence, sentences) * sentences**0.5
    return parts + rng.normal(0, rest, (seeds, sentences)) * sentences**0.5


def test_over_seeds_alone_it_is_the_paired_t_test():
    difference = estimate(DIFFERENCES)
    scipys = stats.ttest_rel(PAIRS[:, 0], PAIRS[:, 1])
    expected = scipys.confidence_interval(0.9)
    assert difference.interval(0.9) == pytest.approx((expected.low, expected.high))
    assert 2 * min(difference.p_at_most(0.0), difference.p_at_least(0.0)) == pytest.approx(
        scipys.pvalue
    )
    greater = stats.ttest_rel(PAIRS[:, 0], PAIRS[:, 1], alternative="greater").pvalue
    assert difference.p_at_most(0.0) == pytest.approx(greater)
    assert difference.noise_sources == ["seeds"]


def test_two_one_sided_tests_are_those_of_statsmodels():
    difference = estimate(DIFFERENCES)
    p, *_ = ttost_paired(PAIRS[:, 0], PAIRS[:, 1], -2.0, 2.0)
    assert max(difference.p_at_most(-2.0), difference.p_at_least(2.0)) == pytest.approx(p)


def test_the_components_are_those_that_went_in():
    rng = np.random.default_rng(2)
    variances = np.mean([components(crossed(10, 300, 1.2, 0.5, 0.8, rng)) for _ in range(200)], 0)
    assert np.sqrt(variances) == pytest.approx([1.2, 0.5, 0.8], rel=0.07)


def test_shared_sentences_make_the_interval_longer_and_more_seeds_do_not_help():
    rng = np.random.default_rng(3)
    parts = crossed(40, 500, 0.2, 1.0, 0.3, rng)
    difference = estimate(parts.mean(1), parts)
    assert difference.noise_sources == ["seeds", "sentences"]
    assert difference.error == pytest.approx(1.0, rel=0.1)
    assert estimate(parts.mean(1)).error < 0.1


@pytest.mark.parametrize("n", [0, 1])
def test_fewer_than_two_pairs_say_nothing(n):
    difference = estimate(np.full(n, 7.0))
    assert difference.interval(0.95) == (-math.inf, math.inf)
    assert (difference.p_at_most(0.0), difference.p_at_least(0.0)) == (1.0, 1.0)
    assert "none" in difference.method


@pytest.mark.parametrize(("n", "bounded"), [(2, False), (5, False), (6, True)])
def test_equal_differences_count_as_in_a_sign_test(n, bounded):
    difference = estimate(np.full(n, 0.1) * 3)
    assert (difference.interval(0.95) == pytest.approx((0.3, 0.3))) is bounded
    assert difference.p_at_most(0.0) == stats.binomtest(n, n, alternative="greater").pvalue
    assert difference.p_at_most(0.4) == 1.0
    assert "sign test" in difference.method


def test_holms_correction_is_statsmodels_on_the_smaller_of_each_claims_two_p_values():
    rng = np.random.default_rng(0)
    for _ in range(4):  # statsmodels collects garbage each time
        p = rng.uniform(0, 0.2, 6)
        adjusted = adjust([{"supported": x, "refuted": 1.0} for x in p], [0.05] * 6)
        expected = multipletests(p, method="holm")[1]
        assert [p_values["supported"] for p_values in adjusted] == pytest.approx(expected)
        assert all(p_values["refuted"] == 1.0 for p_values in adjusted)


def test_claims_may_have_their_own_alpha():
    adjusted = adjust([{"supported": 0.02}, {"supported": 0.02}], [0.1, 0.05])
    # the first is more significant for its alpha and bears the factor 2
    assert [p_values["supported"] for p_values in adjusted] == pytest.approx([0.04, 0.02])


@pytest.mark.parametrize(
    ("first", "of_first", "second", "of_second"), [(10, 10, 0, 10), (7, 12, 3, 9)]
)
def test_at_no_difference_it_is_scipys_barnard(first, of_first, second, of_second):
    table = [[first, second], [of_first - first, of_second - second]]
    expected = stats.barnard_exact(table, alternative="greater").pvalue
    rates = Rates(first, of_first, second, of_second)
    assert rates.p_at_most(0.0) == pytest.approx(expected, rel=1e-3)
    boschloo = stats.boschloo_exact(table, alternative="greater").pvalue
    assert (rates.p_at_most(0.0) <= 0.025) == (boschloo <= 0.025)


def test_the_interval_of_rates_is_where_the_tests_stop_rejecting():
    rates = Rates(7, 10, 1, 10)
    low, high = rates.interval(0.95)
    assert low < rates.effect < high
    assert rates.p_at_most(low - 1e-4) <= 0.025 < rates.p_at_most(low + 1e-4)
    assert rates.p_at_least(high + 1e-4) <= 0.025 < rates.p_at_least(high - 1e-4)


def test_an_empty_arm_says_nothing():
    rates = Rates(0, 0, 3, 5)
    assert math.isnan(rates.effect)
    assert rates.p_at_most(0.0) == rates.p_at_least(0.0) == 1.0
    assert rates.interval(0.95) == (-math.inf, math.inf)


@pytest.mark.parametrize("delta", [-0.3, 0.0, 0.2])
def test_the_test_keeps_its_level_at_every_rate(delta):
    rejected = p_values(10, 10, delta) <= 0.05
    events = np.arange(11)
    for second in np.linspace(max(0.0, -delta), min(1.0, 1 - delta), 37):
        ones = stats.binom.pmf(events, 10, min(1.0, second + delta))
        chance = ones[:, None] * stats.binom.pmf(events, 10, second)
        assert chance[rejected].sum() <= 0.0501


def test_bounds_are_those_of_the_textbooks():
    thirds = (1 / 3, 2 / 3, 1.0)  # Jennison & Turnbull 2000; R's gsDesign(k=3, sfu=sfLDOF)
    bounds = [stats.norm.isf(nominal(0.025, thirds[:k])) for k in (1, 2, 3)]
    assert bounds == pytest.approx([3.7103, 2.5114, 1.9930], abs=2e-4)
    halves = [stats.norm.isf(nominal(0.025, looks)) for looks in ((0.5,), (0.5, 1.0))]
    assert halves == pytest.approx([2.9626, 1.9686], abs=2e-4)


@pytest.mark.parametrize("looks", [(0.5,), (0.4, 0.7, 1.0), (0.25, 0.5, 0.75)])
@pytest.mark.parametrize("level", [1e-6, 0.025])
def test_a_repeated_p_value_is_at_most_the_level_where_the_look_decides(looks, level):
    bound = nominal(level, looks)
    assert bound < level
    assert repeated_p_value(bound * 0.99, looks) < level < repeated_p_value(bound * 1.01, looks)
