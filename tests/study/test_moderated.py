"""Test the error that is borrowed from all arms of a study, against numbers of R packages.

The numbers are those of limma 3.54.1, nlme 3.1-162 and pbkrtest 0.5.2 on R 4.2.2.
"""

from dataclasses import replace

import numpy as np
import pytest

from ablate.stats.estimate import estimate, from_arms
from ablate.stats.moderated import (
    ArmNoise,
    EffectNoise,
    arm_noise,
    effect_noise,
    log_variances,
    trigamma_inverse,
)
from lab.calibration.moderation import (
    ALIKE,
    OUTLIERS,
    false_rates,
    moderated,
    power,
    textbook,
    with_further_runs,
)

VARIANCES = np.array([0.81, 1.21, 0.42, 2.25, 0.95, 7.3, 0.66, 1.58])
SCORES = np.array(
    [
        [10.2, 11.1, 9.4, 10.8, 12.0],
        [11.0, 12.3, 10.1, 11.2, 13.1],
        [9.1, 10.9, 9.9, 9.7, 11.5],
        [10.0, 12.1, 9.2, 11.9, 11.4],
    ]
)
FIRST_TWO = np.array([-1.0, 1.0, 0.0, 0.0])


def noise_of_first_two(scores: np.ndarray) -> EffectNoise:
    """Return the noise of the second arm minus the first; runs without a partner count, too."""
    arms, weights = arm_noise(scores), np.zeros(len(scores))
    weights[:2] = -1.0, 1.0
    assert arms is not None
    return effect_noise(arms, weights, scores, np.isfinite(scores[:2]).all(0), with_unpaired=True)


def test_inverse_of_trigamma_is_limmas() -> None:
    """limma: trigammaInverse(c(.01, .3, 1, 5))."""
    expected = [100.499166681943, 3.808719012051, 1.426255120215, 0.496168734704]
    assert trigamma_inverse(np.array([0.01, 0.3, 1.0, 5.0])) == pytest.approx(expected, rel=1e-8)


def test_prior_of_variances_is_limmas() -> None:
    """limma: fitFDist(s2, 4) and squeezeVar(s2, 4)."""
    logs, noise = log_variances(VARIANCES, np.full(8, 4.0))
    prior = 2 * float(trigamma_inverse(np.array([logs.var(ddof=1) - noise.mean()]))[0])
    centre = float(np.exp(logs.mean() - log_variances(np.ones(1), np.array([prior]))[0][0]))
    assert prior == pytest.approx(17.2507422496, rel=1e-8)
    assert centre == pytest.approx(1.56674956761, rel=1e-8)
    squeezed = (prior * centre + 4 * VARIANCES[5]) / (prior + 4)
    assert squeezed == pytest.approx(2.64591195452, rel=1e-8)


def test_error_is_that_of_the_mixed_model_if_arms_vary_alike() -> None:
    """nlme: lme(y ~ arm, random = ~1 | seed); pbkrtest: getKR(KRmodcomp(...), "ddf").

    The variance of a difference is 0.1232, and Kenward & Roger's degrees of freedom are 12.
    """
    of_seeds, rest = 0.905, 0.308
    alike = np.full(4, of_seeds + rest)
    noise = ArmNoise(
        variances=alike,
        df=np.full(4, 4.0),
        prior_df=np.full(4, 1e12),
        typical=of_seeds + rest,
        rho=of_seeds / (of_seeds + rest),
        pairing=1.0,
        skewness=0.0,
    )
    error = noise.error(FIRST_TWO, 5)
    assert error.variance / 5 == pytest.approx(0.1232, rel=1e-9)
    assert error.df == pytest.approx(12, rel=1e-6)
    alone = replace(noise, rho=0.0, pairing=0.0).error(FIRST_TWO, 5)
    assert alone.df > 12  # without pairing, one-way analysis of variance


def test_further_runs_of_an_arm_count_as_in_generalised_least_squares() -> None:
    """The closed form is that of all 19 runs, with their covariances, by plain matrix algebra."""
    scores = np.random.default_rng(11).standard_normal((3, 9)) + np.arange(3)[:, None]
    scores[1:, 5:] = np.nan
    paired = estimate(scores[1, :5] - scores[0, :5], added=scores[1, :5])
    noise = replace(noise_of_first_two(scores), arms=replace(arm_noise(scores), rho=0.4))
    effect = from_arms(paired, noise)
    arm, seed = np.nonzero(np.isfinite(scores[:2]))
    spread = noise.arms.variances[arm] ** 0.5
    same = (seed[:, None] == seed) * np.where(arm[:, None] == arm, 1.0, 0.4)
    inverse = np.linalg.inv(spread[:, None] * same * spread)
    design = np.eye(2)[arm]
    covariance = np.linalg.inv(design.T @ inverse @ design)
    means = covariance @ design.T @ inverse @ scores[arm, seed]
    contrast = np.array([-1.0, 1.0])
    assert effect.effect == pytest.approx(contrast @ means, rel=1e-9)
    assert effect.error**2 == pytest.approx(contrast @ covariance @ contrast, rel=1e-9)
    assert effect.effect != pytest.approx(paired.effect, rel=1e-3)


def test_further_runs_of_the_baseline_give_the_two_sample_error_without_correlation() -> None:
    """With nothing borrowed, Satterthwaite's degrees of freedom are those of Welch's test."""
    noise = ArmNoise(np.array([2.0, 3.0]), np.array([11.0, 4.0]), np.zeros(2), 1.0, 0.0, 0.0, 0.0)
    groups, counts = np.array([[True, True], [True, False]]), np.array([5, 7])
    weights = np.array([-1.0, 1.0])
    error = noise.error_of(noise.parts(weights, groups, counts), counts)
    first, second = 3 / 5, 2 / 12
    assert error.variance / 5 == pytest.approx(first + second)
    assert error.df == pytest.approx((first + second) ** 2 / (first**2 / 4 + second**2 / 11))


def test_study_of_two_arms_keeps_its_interval() -> None:
    first, second = SCORES[0], SCORES[1]
    paired = estimate(second - first, added=second)
    assert arm_noise(SCORES[:2]) is None
    assert from_arms(paired, None) is paired


def test_single_study_agrees_with_the_simulation() -> None:
    scores = np.random.default_rng(4).exponential(size=(9, 5))
    alone = estimate(scores[1] - scores[0], added=scores[1])
    single = from_arms(alone, noise_of_first_two(scores))
    ((low, high),) = moderated(scores[None], [0.025])
    assert single.interval(0.95) == pytest.approx((low[0], high[0]), rel=1e-9)


def test_arm_that_varies_more_borrows_less() -> None:
    rng = np.random.default_rng(5)
    scores = rng.standard_normal((12, 5))
    scores[3] *= 20
    noise = arm_noise(scores)
    assert noise is not None
    assert noise.prior_df[3] < 0.05 * np.median(noise.prior_df)
    assert noise.variances[3] > 0.9 * scores[3].var(ddof=1)


def test_pairing_counts_as_far_as_it_pays() -> None:
    rng = np.random.default_rng(7)
    seeds, rest = rng.standard_normal((400, 1, 5)), rng.standard_normal((400, 6, 5))
    independent, correlated = arm_noise(rest), arm_noise(rest + 3 * seeds)
    assert independent is not None
    assert correlated is not None
    assert independent.rho.mean() < 0.1
    assert correlated.rho.mean() == pytest.approx(0.9, abs=0.1)


def test_differences_that_contradict_the_other_arms_stand_alone() -> None:
    """An arm that is almost the baseline, as with a change that hardly changes the run."""
    rng = np.random.default_rng(10)
    scores = rng.standard_normal((12, 10))
    scores[1] = scores[0] + 0.05 * rng.standard_normal(10)
    alone = estimate(scores[1] - scores[0], added=scores[1])
    assert from_arms(alone, noise_of_first_two(scores)) is alone


def test_borrowing_gains_power_and_keeps_the_level_with_an_outlying_arm() -> None:
    assert power(moderated, 9, 5, 1000) > power(textbook, 9, 5, 1000) + 0.05
    outlying = OUTLIERS["one normal arm, variance x9"]
    scores = outlying(2000, 13, 5, np.random.default_rng(8))
    assert false_rates(moderated, scores).one_sided < 0.04


@pytest.mark.parametrize("noise", ["exponential, variance x6", "lognormal (1.0), variance x6"])
def test_more_runs_of_the_baseline_keep_the_level_although_skewness_does_not_cancel(noise) -> None:
    scores = with_further_runs(ALIKE[noise])(1500, 39, 5, np.random.default_rng(12))
    rates = false_rates(moderated, scores)
    assert rates.one_sided < 0.045
    assert rates.equivalence < 0.075
