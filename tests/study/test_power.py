"""What a design can see: the noncentral t, statsmodels, and plain simulation."""

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.power import TTestPower

from ablate.stats.estimate import Estimate, estimate
from ablate.stats.rates import Rates
from ablate.verdict.kinds import KINDS
from ablate.verdict.types import LARGE
from lab.calibration.planned import PROMISES, promised

PLAIN = Estimate(effect=1.0, pairs=5, sentences=0, seed_variance=1.0, sentence_variance=0.0)


BETTER, SAME = KINDS["superiority"], KINDS["equivalence"]


def test_without_sentences_it_is_the_power_of_a_t_test(claim):
    computed = BETTER.power("supported", PLAIN, 0.0, 1.5, 5, 0.05)
    power = TTestPower()
    assert computed == pytest.approx(power.power(1.5, 5, 0.025, alternative="larger"), abs=2e-3)
    least = power.solve_power(nobs=5, alpha=0.025, power=0.8, alternative="larger")
    assert BETTER.detectable(claim(), PLAIN, 0.05) == pytest.approx(least, rel=5e-3)


@pytest.mark.parametrize("kind", ["superiority", "equivalence", "non_inferiority"])
@pytest.mark.parametrize("truth", [-0.3, 1.5])
def test_the_power_of_every_rule_is_that_of_simulation(kind, truth):
    drawn = np.random.default_rng(0).normal(truth, 1.0, (20000, 8))
    error, mean = drawn.std(1, ddof=1) / 8**0.5, drawn.mean(1)
    half, margin = stats.t.ppf(0.975, 7) * error, 1.5
    share = {
        "superiority": (mean > half) & (mean + half >= margin),
        "equivalence": np.abs(mean) + stats.t.ppf(0.95, 7) * error < margin,
        "non_inferiority": mean - half > -margin,
    }[kind].mean()
    power = KINDS[kind].power("supported", PLAIN, margin, truth, 8, 0.05)
    assert power == pytest.approx(share, abs=0.01)


def test_seeds_needed_are_enough_and_one_less_is_not(claim):
    plan = BETTER.seeds_needed(claim(margin=1.0), PLAIN, 0.05)["supported"]
    of = [BETTER.power("supported", PLAIN, 1.0, 1.0, n, 0.05) for n in (10, 11)]
    assert of[0] < 0.8 <= of[1]
    assert plan == {"effect": 1.0, "seeds": 11}  # 10 of TTestPower, which cannot say "smaller"


@pytest.mark.parametrize("effect", [0.1, 9.0])
def test_seeds_are_planned_for_what_is_named_and_not_for_what_was_found(claim, effect):
    observed = Estimate(effect, 5, 0, 1.0, 0.0)
    plans = BETTER.seeds_needed(claim(margin=1.0), observed, 0.05)
    assert plans == {
        "supported": {"effect": 1.0, "seeds": 11},
        LARGE: {"effect": 2.0, "seeds": 10},
    }
    named = BETTER.seeds_needed(claim(margin=1.0, plan_for=2.0), observed, 0.05)
    assert named["supported"]["effect"] == 2.0 and named["supported"]["seeds"] < 11
    assert BETTER.seeds_needed(claim(margin=0.0), observed, 0.05) == {}


@pytest.mark.slow
def test_the_seeds_that_are_promised_have_the_power_that_is_promised():
    """Sweeps of exactly as many seeds, at the named effect, drawn from the normal model."""
    rng = np.random.default_rng(5)
    noise = Estimate(0.0, 10, 0, 3.0, 0.0)  # the arms have variances of 1 and 2

    def draw(effect, seeds):
        treatment = rng.normal(0.0, 1.0, seeds)
        return estimate(treatment - rng.normal(0.0, 2**0.5, seeds) + effect)

    rates = {}
    for name in PROMISES:
        rates |= promised(name, noise, 1.5, draw, 1500)
    for name in PROMISES:
        assert rates[name] == pytest.approx(rates[f"{name}: planned"], abs=0.03)
        assert 0.8 <= rates[f"{name}: planned"] < 0.87, name  # a seed is a step


@pytest.mark.parametrize("values", [[1.0], [2.0, 2.0, 2.0]])
def test_without_a_spread_nothing_is_known(claim, values):
    observed = estimate(np.array(values))
    for kind in (BETTER, SAME):
        assert kind.detectable(claim(), observed, 0.05) is None
        assert kind.seeds_needed(claim(), observed, 0.05) == {}


def test_the_detectable_share_of_ten_runs(claim):
    asked, kind = claim(kind="stability", metric="diverged", margin=0.0), KINDS["stability"]
    share = kind.detectable(asked, Rates(0, 10, 0, 10), 0.05)
    at_least = stats.binom.sf(3, 10, share)  # 4 of 10 against 0 of 10 is the least that is seen
    assert at_least == pytest.approx(0.8, abs=0.03)
    assert kind.detectable(asked, Rates(0, 2, 0, 2), 0.05) is None
    assert kind.detectable(asked, Rates(0, 0, 0, 2), 0.05) is None


def test_runs_needed_for_a_stability_claim(claim):
    asked, kind = claim(kind="stability", metric="diverged", margin=0.4), KINDS["stability"]
    plans = kind.seeds_needed(asked, Rates(1, 10, 1, 10), 0.05)
    assert 10 < plans["supported"]["seeds"] < 40
    assert plans[LARGE]["effect"] == 0.8
    (side, plan), *other_plans = kind.seeds_needed(
        claim(margin=0.0), Rates(1, 10, 1, 10), 0.05
    ).items()
    assert (side, plan["effect"], other_plans) == ("supported", 0.2, [])  # where no share is named
