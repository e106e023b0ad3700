"""How often noise that is skewed, heavy-tailed, growing or in clusters makes a false verdict."""

import numpy as np
import pytest
from scipy import stats

from ablate.stats import adjust
from ablate.stats.corrections import (
    CLUSTERED,
    FEW,
    FURTHEST,
    HIDDEN,
    PAIRED,
    SKEWED,
    corrected_t,
    false_rate,
    is_visible,
    skewness,
    skewness_of_more_variable_arm,
    skewness_standard_error,
    uncorrected_t,
)
from ablate.stats.estimate import estimate
from ablate.verdict.conclude import conclude
from ablate.verdict.kinds import KINDS
from lab.calibration import robustness
from lab.calibration.check import failures
from lab.calibration.shapes import PROMISED

SWEEPS = 1500


FAST = ("normal", "exponential, variance x6", "trend, lognormal")


@pytest.mark.parametrize(
    ("name", "seeds"),
    [
        pytest.param(name, seeds, marks=[] if (name, seeds) in fast else pytest.mark.slow)
        for fast in [{(name, 10) for name in FAST}]
        for number, name in enumerate(PROMISED)
        for seeds in (10, 20)
        if (name, seeds) in fast or number % 2 == seeds // 20  # each shape with one of both
    ],
)
def test_the_level_holds_within_one_and_a_half_points(name, seeds, monkeypatch):
    monkeypatch.setattr(robustness, "SHAPES", {name: PROMISED[name]})
    rates = robustness.robustness(SWEEPS, [seeds])
    assert failures(robustness.checked(rates, {}, SWEEPS)) == []


def test_skewed_seeds_far_beyond_the_margin_decide_also_beside_other_claims():
    """The correction may not outgrow the quantile far out, where Holm's correction looks."""
    minus = np.array([30.0, 30.3, 29.9, 30.1, 30.2])
    plus = minus + np.array([12.4, 12.1, 12.9, 12.6, 9.7])
    rule = KINDS["superiority"]
    difference = estimate(plus - minus, added=plus)
    assert is_visible(difference.skewness, 5)
    p = rule.scaled_to_alpha(rule.p_values(difference, 1.0))
    undecided = [{"supported": 1.0, "refuted": 1.0}] * 2
    assert rule.decide(adjust([p, *undecided], [0.05] * 3)[0], 0.05).status == "supported"


@pytest.mark.parametrize("seeds", [5, 20])
def test_the_corrected_quantile_rises_with_t_and_keeps_its_ratio_in_the_tail(seeds):
    furthest = stats.t.ppf(FURTHEST, seeds - 1)
    quantiles = [0.5 * furthest, furthest, 2 * furthest, 20 * furthest]
    moved = [corrected_t(q, furthest, 4.0, seeds) / q for q in quantiles]
    assert 1 < moved[0] < moved[1]
    assert moved[1:] == pytest.approx([moved[1]] * 3)
    assert corrected_t(furthest, furthest, 0.0, seeds) == furthest
    for quantile in quantiles:
        there = corrected_t(quantile, furthest, 4.0, seeds)
        assert uncorrected_t(there, furthest, 4.0, seeds) == pytest.approx(quantile)


def test_the_end_of_the_long_tail_moves_more_and_its_p_value_with_it():
    rng = np.random.default_rng(1)
    plus, minus = 6 * (1 - rng.exponential(size=12)), rng.standard_normal(12)
    plain, skewed = estimate(plus - minus), estimate(plus - minus, added=plus)
    assert skewed.skewness == pytest.approx(stats.skew(plus, bias=False)) and skewed.skewness < 0
    low, high = skewed.interval(0.95)
    moved = plain.interval(0.95)[0] - low, high - plain.interval(0.95)[1]
    assert moved[0] > 2 * moved[1] >= 0
    assert skewed.p_at_most(low) == pytest.approx(0.025)
    assert skewed.p_at_least(high) == pytest.approx(0.025)
    assert skewed.p_at_most(low) + skewed.p_at_least(low) == pytest.approx(1.0)
    assert skewed.p_at_most(skewed.effect) == 0.5
    assert skewed.method == "skewed t"


@pytest.mark.parametrize("seeds", [5, 30])
def test_the_skewness_is_that_of_the_arm_that_varies_more(seeds):
    rng = np.random.default_rng(seeds)
    wide, narrow = 5 * rng.exponential(size=seeds), rng.standard_normal(seeds)
    one, other = (skewness_of_more_variable_arm(*x) for x in ((wide, narrow), (narrow, wide)))
    assert one == -other == skewness(wide) == pytest.approx(stats.skew(wide, bias=False))
    drawn = stats.skew(rng.standard_normal((20000, seeds)), axis=1, bias=False)
    assert skewness_standard_error(seeds) == pytest.approx(drawn.std(), rel=0.05)


@pytest.mark.parametrize("seeds", [2, 50])
def test_a_verdict_states_the_larger_of_the_neighbouring_rates(seeds):
    for equivalence in (False, True):
        rate = false_rate(seeds, equivalence=equivalence)
        assert 0.025 < rate <= max(row[equivalence] for row in PAIRED.values())


@pytest.mark.parametrize(
    ("pre", "seeds", "reason"),
    [
        ([1.0, 1.2, 0.9, 1.1, 1.05], 5, FEW),
        ([1.0, 1.2, 0.9, 1.1, 1.05, 1.3, 0.8, 1.15, 0.95, 1.0, 1.1, -9.0], 12, SKEWED),
        ([1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 5.0, 5.1, 5.2, 5.3, 5.4, 5.5], 12, CLUSTERED),
        ([1.0, 1.2, 0.9, 1.1, 1.05, 1.3, 0.8, 1.15, 0.95, 1.0, 1.1, 1.2], 12, HIDDEN),
    ],
)
def test_a_verdict_says_how_often_such_verdicts_are_false(
    pre, seeds, reason, evidence, claim, arms
):
    post = (np.arange(seeds) % 3 * 0.1).tolist()
    conclusion = conclude(evidence(arms(pre, post), claim(), seeds=seeds))
    (caveat_values,) = (caveat for caveat in conclusion["caveats"] if caveat["code"] == "noise")
    assert caveat_values["values"]["reason"] == reason
    assert conclusion["claims"][0]["false_rate"] > 0.025
