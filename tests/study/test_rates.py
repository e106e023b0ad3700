"""The exact test and interval of two shares."""

import math

import numpy as np
import pytest
from scipy import stats

from ablate.stats.rates import Rates, p_values


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


def test_the_interval_is_where_the_tests_stop_rejecting():
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
