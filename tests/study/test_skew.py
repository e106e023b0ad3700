"""Arms whose seeds are skewed and vary unlike the other's: how often that makes a false verdict."""

import numpy as np
import pytest
from scipy import special, stats

from ablate.stats.estimate import estimate
from ablate.stats.skew import longest
from ablate.verdict.conclude import conclude
from ablate.verdict.decision import SUPPORTED
from ablate.verdict.kind import KINDS

SWEEPS = 1000
ERROR = 2.6 * (0.025 * 0.975 / SWEEPS) ** 0.5  # of a share, exceeded once in 200 times


def below(shape, rng):
    """Seeds of mean 0 and variance 1 that sometimes do much worse: skewness -1."""
    return (4 - rng.gamma(4, size=shape)) / 2


def supported(treatment, baseline, *, corrected=True):
    """Share of the sweeps in which the treatment is called better."""
    found = [
        estimate(plus - minus, plus=plus if corrected else None)
        for plus, minus in zip(treatment, baseline, strict=True)
    ]
    return np.mean([one.interval(0.95)[0] > 0 for one in found])


@pytest.mark.parametrize(("seeds", "plain"), [(10, 0.051), (20, 0.045)])
def test_skewed_seeds_that_vary_six_times_as_much_are_no_better(seeds, plain):
    rng = np.random.default_rng(seeds)
    arms = 6 * below((SWEEPS, seeds), rng), rng.standard_normal((SWEEPS, seeds))
    uncorrected = supported(*arms, corrected=False)
    assert uncorrected == pytest.approx(plain, abs=2 * ERROR)
    # the docstring of ablate.stats.skew has 2.7 and 2.6 %
    assert supported(*arms) <= min(0.027 + ERROR, 0.65 * uncorrected)


@pytest.mark.slow
def test_no_test_keeps_both_its_level_with_skewed_seeds_and_the_power_of_t_with_normal_ones():
    """The most powerful test of one shape of noise against another, both of unknown scale.

    Its statistic is the ratio of the likelihoods of ten differences, integrated over scales.
    """
    rng, shape = np.random.default_rng(0), (20000, 10)
    skewed = (6 * below(shape, rng) - rng.standard_normal(shape)) / 37**0.5
    normal = rng.standard_normal(shape) + 0.994  # where the t test has a power of .8
    grid = np.linspace(-12, 5, 4000)
    z, weights = np.polynomial.hermite_e.hermegauss(60)
    tails = 2 - (grid[:, None] * 37**0.5 + z) / 6  # of a gamma of shape 4, halved
    density = np.log(stats.gamma.pdf(2 * tails, 4) @ weights + 1e-300)

    def ratio(drawn):
        unit = drawn / (drawn**2).mean(1, keepdims=True) ** 0.5
        under = {"normal": [], "skewed": []}
        for scale in np.exp(np.linspace(-2, 2, 60)):
            x, jacobian = scale * unit, 10 * np.log(scale)
            under["normal"].append(jacobian - ((x - 0.994) ** 2).sum(1) / 2)
            under["skewed"].append(jacobian + np.interp(x, grid, density).sum(1))
        return special.logsumexp(under["normal"], 0) - special.logsumexp(under["skewed"], 0)

    least = np.quantile(ratio(skewed), 0.975)
    called = stats.ttest_1samp(normal, 0, axis=1, alternative="greater").pvalue < 0.025
    assert called.mean() == pytest.approx(0.8, abs=0.01)
    assert (ratio(normal) > least).mean() == pytest.approx(0.67, abs=0.015)


def test_normal_seeds_that_vary_alike_lose_no_power():
    rng = np.random.default_rng(0)
    arms = rng.standard_normal((2, SWEEPS, 10)) + np.array([1.3, 0.0])[:, None, None]
    plain = supported(*arms, corrected=False)
    assert 0.7 < plain < 0.9
    assert plain - 0.01 < supported(*arms) <= plain


def test_the_end_of_the_long_tail_moves_more_and_its_p_value_with_it():
    rng = np.random.default_rng(1)
    plus, minus = 6 * below(12, rng), rng.standard_normal(12)
    plain, found = estimate(plus - minus), estimate(plus - minus, plus=plus)
    assert found.skewness == pytest.approx(stats.skew(plus - minus, bias=False)) and (
        found.skewness < 0
    )
    low, high = found.interval(0.95)
    moved = plain.interval(0.95)[0] - low, high - plain.interval(0.95)[1]
    assert moved[0] > 2 * moved[1] >= 0
    assert found.p_at_most(low) == pytest.approx(0.025)
    assert found.p_at_least(high) == pytest.approx(0.025)
    assert found.p_at_most(low) + found.p_at_least(low) == pytest.approx(1.0)
    assert found.p_at_most(found.effect) == 0.5
    assert found.method.startswith("t over seeds, corrected for their skewness")


@pytest.mark.parametrize("seeds", [10, 30])
def test_the_bound_of_the_skewness_is_passed_by_one_in_ten_normal_samples(seeds):
    drawn = np.random.default_rng(4).standard_normal((20000, seeds))
    allowance = longest(0.0, seeds)
    assert (stats.skew(drawn, axis=1, bias=False) > allowance).mean() == pytest.approx(
        0.1, abs=0.01
    )
    assert longest(-5.0, seeds) == 0.0 and longest(1.0, seeds) == pytest.approx(1.0 + allowance)


def test_more_seeds_are_needed_where_seeds_are_skewed():
    rng = np.random.default_rng(2)
    plus, minus = 6 * below(12, rng), rng.standard_normal(12)
    claim = {"kind": "superiority", "margin": 3.0}
    needed = [
        KINDS["superiority"].seeds_needed(claim, estimate(plus - minus, plus=given), 0.05)
        for given in (None, plus)
    ]
    assert needed[0][SUPPORTED].seeds < needed[1][SUPPORTED].seeds


@pytest.mark.parametrize(("seeds", "spread", "warned"), [(5, 40, 1), (5, 1, 0), (10, 40, 0)])
def test_few_seeds_that_vary_unlike_the_others_are_a_caveat(
    seeds, spread, warned, evidence, claim, arms
):
    rng = np.random.default_rng(3)
    pre, post = rng.standard_normal((2, seeds))
    said = conclude(evidence(arms((spread * pre).tolist(), post.tolist()), claim(), seeds=seeds))
    assert sum("a skew goes unseen" in caveat for caveat in said["caveats"]) == warned
