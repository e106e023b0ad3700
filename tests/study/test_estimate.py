"""Intervals and p-values of a mean: scipy's and statsmodels' on the same numbers, and odd cases."""

import math

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.weightstats import ttost_paired

from ablate.stats.estimate import components, estimate

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
    assert difference.noise == ["seeds"]


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
    assert difference.noise == ["seeds", "sentences"]
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
