"""What a design can see: the noncentral t, statsmodels, and plain simulation."""

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.power import TTestPower

from ablate.study.estimate import Estimate, estimate
from ablate.study.power import chances, detectable, seeds_needed
from ablate.study.rates import Rates

PLAIN = Estimate(effect=1.0, pairs=5, sentences=0, seed_variance=1.0, sentence_variance=0.0)


def test_without_sentences_it_is_the_power_of_a_t_test(claim):
    found = chances(claim(margin=0.0), PLAIN, 1.5, 5, 0.05)
    power = TTestPower()
    assert found["supported"] == pytest.approx(
        power.power(1.5, 5, 0.025, alternative="larger"), abs=2e-3
    )
    least = power.solve_power(nobs=5, alpha=0.025, power=0.8, alternative="larger")
    assert detectable(claim(), PLAIN, 0.05) == pytest.approx(least, rel=5e-3)


def test_the_chances_of_equivalence_are_those_of_simulation(claim):
    asked, rng = claim(kind="equivalence", margin=1.5), np.random.default_rng(0)
    drawn = rng.normal(0.3, 1.0, (20000, 8))
    half = stats.t.ppf(0.95, 7) * drawn.std(1, ddof=1) / 8**0.5
    share = (np.abs(drawn.mean(1)) + half < 1.5).mean()
    assert chances(asked, PLAIN, 0.3, 8, 0.05)["supported"] == pytest.approx(share, abs=0.01)


def test_the_detectable_margin_of_equivalence_is_reached_with_power_08(claim):
    asked = claim(kind="equivalence")
    margin = detectable(asked, PLAIN, 0.05)
    reached = chances({**asked, "margin": margin}, PLAIN, 0.0, 5, 0.05)["supported"]
    assert reached == pytest.approx(0.8, abs=1e-3)


def test_seeds_needed_are_enough_and_one_less_is_not(claim):
    asked = claim(margin=0.0)
    needed = seeds_needed(asked, PLAIN, 0.05)
    of = [chances(asked, PLAIN, 1.0, n, 0.05)["supported"] for n in (needed - 1, needed)]
    assert of[0] < 0.8 <= of[1]
    assert needed == 10  # of TTestPower too


def test_no_number_of_seeds_overcomes_too_few_sentences(claim):
    found = Estimate(1.0, 10, 100, seed_variance=1.0, sentence_variance=1.0)
    assert seeds_needed(claim(margin=0.0), found, 0.05) is None


def test_an_effect_at_a_bound_of_the_rule_is_never_decided(claim):
    assert seeds_needed(claim(margin=1.0), PLAIN, 0.05) is None


@pytest.mark.parametrize("values", [[], [1.0], [2.0, 2.0, 2.0]])
def test_without_a_spread_nothing_is_known(claim, values):
    found = estimate(np.array(values))
    assert detectable(claim(), found, 0.05) is None
    assert seeds_needed(claim(), found, 0.05) is None


def test_the_detectable_share_of_ten_runs(claim):
    asked = claim(kind="stability", metric="diverged", margin=0.0)
    share = detectable(asked, Rates(0, 10, 0, 10), 0.05)
    at_least = stats.binom.sf(3, 10, share)  # 4 of 10 against 0 of 10 is the least that is seen
    assert at_least == pytest.approx(0.8, abs=0.03)
    assert detectable(asked, Rates(0, 2, 0, 2), 0.05) is None
    assert detectable(asked, Rates(0, 0, 0, 2), 0.05) is None


def test_runs_needed_for_a_stability_claim(claim):
    asked = claim(kind="stability", metric="diverged", margin=0.0)
    assert 10 < seeds_needed(asked, Rates(4, 10, 1, 10), 0.05) < 40
    assert seeds_needed(asked, Rates(1, 10, 1, 10), 0.05) is None
