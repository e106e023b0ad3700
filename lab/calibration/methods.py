"""One-sided tests of a mean of paired differences, for many sweeps at once.

Each function takes the scores of two arms, an array of sweeps by seeds for each. It returns for
every sweep the p-value of the hypothesis "the true mean of `plus` minus `minus` is at most 0". To
test the other direction, exchange the two arrays.
Sources: Welch 1938; Johnson 1978; Hall 1992, JRSS B 54, 221 (removal of skewness by a monotone
cubic); Efron & Tibshirani 1993, chapter 12 (bootstrap-t); Fisher 1935 (sign-flips); Wilcoxon 1945;
Yuen 1974 (trimmed mean).
"""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float, Int
from scipy import special, stats

from ablate.stats.skew import ALLOWANCE, FACTOR, FURTHEST, standard_error
from lab.calibration.shapes import Seeds

P = Float[np.ndarray, " sweeps"]
Method = Callable[[Seeds, Seeds], P]
RESAMPLES = 500  # of the bootstrap
PATTERNS = 2**12  # largest number of sign patterns; up to 12 seeds, all patterns are used
CHUNK = 500  # sweeps whose resamples are in memory at the same time
TRIMMED = 0.2  # proportion of the seeds that is removed at each end
BOUND = 1.2815515655446004  # standard errors to the upper 90 % bound of the skewness


def t_test(plus: Seeds, minus: Seeds) -> P:
    """Return p-values of the paired t test."""
    return np.asarray(special.stdtr(plus.shape[1] - 1, -_t(plus - minus)))


def welch(plus: Seeds, minus: Seeds) -> P:
    """Return p-values of Welch's t test for two samples, which ignores the pairs."""
    tested = stats.ttest_ind(plus, minus, axis=1, equal_var=False, alternative="greater")
    return np.asarray(tested.pvalue)


def chosen(plus: Seeds, minus: Seeds) -> P:
    """Return p-values of the t test with the correction of ablate.stats.skew."""
    t, n = _t(plus - minus), plus.shape[1]
    furthest = -special.stdtrit(n - 1, FURTHEST)
    beyond = special.stdtr(n - 1, -t / (1 + _of_wider(plus, minus) * furthest / (3 * n**0.5)))
    return np.minimum(unlimited(plus, minus), np.where(beyond <= FURTHEST, beyond, 1.0))


def unlimited(plus: Seeds, minus: Seeds) -> P:
    """Return p-values as `chosen` does, but let the correction grow beyond FURTHEST, too."""
    return _corrected(_t(plus - minus), _of_wider(plus, minus), plus.shape[1])


def johnson(plus: Seeds, minus: Seeds) -> P:
    """Return p-values of Johnson's t test, with the sample skewness of the differences."""
    difference, n = plus - minus, plus.shape[1]
    t, g = _t(difference), _skewness(difference)
    return np.asarray(special.stdtr(n - 1, -(t + g * (1 / (6 * n**0.5) + t**2 / (3 * n**0.5)))))


def former(plus: Seeds, minus: Seeds) -> P:
    """Return p-values of the method that an earlier version of `ablate` used.

    If the variances of the arms differ significantly, this is Johnson's t test with a 90 % bound of
    the skewness. Otherwise it is the t test.
    """
    difference, n = plus - minus, plus.shape[1]
    variances = np.sort([plus.var(1), minus.var(1)], axis=0)
    uneven = variances[1] > variances[0] * special.fdtri(n - 1, n - 1, 0.975)
    bound = np.maximum(0.0, BOUND * standard_error(n) - _skewness(difference))
    return _corrected(_t(difference), np.where(uneven, bound, 0.0), n)


def hall(plus: Seeds, minus: Seeds) -> P:
    """Return p-values of the t test with Hall's transformation of t."""
    difference, n = plus - minus, plus.shape[1]
    t, g = _t(difference), _skewness(difference)
    moved = t + g * t**2 / (3 * n**0.5) + g**2 * t**3 / (27 * n) + g / (6 * n**0.5)
    return np.asarray(special.stdtr(n - 1, -moved))


def bootstrap_t(plus: Seeds, minus: Seeds) -> P:
    """Return p-values from the bootstrap distribution of t."""
    difference, n = plus - minus, plus.shape[1]
    residuals, t = difference - difference.mean(1, keepdims=True), _t(difference)
    picks: Int[np.ndarray, "resamples seeds"]
    picks = np.random.default_rng(0).integers(0, n, (RESAMPLES, n))
    above = [
        (_t(residuals[k : k + CHUNK][:, picks]) >= t[k : k + CHUNK, None]).sum(1)
        for k in range(0, len(t), CHUNK)
    ]
    return np.asarray((1 + np.concatenate(above)) / (RESAMPLES + 1))


def sign_flips(plus: Seeds, minus: Seeds) -> P:
    """Return the proportion of sign patterns for which the mean is at least as large as measured.

    A sign pattern reverses the signs of some differences. Up to 12 seeds, all patterns are used.
    """
    difference, n = plus - minus, plus.shape[1]
    if 2**n <= PATTERNS:
        signs = 1 - 2 * ((np.arange(2**n)[:, None] >> np.arange(n)) & 1)
    else:
        signs = np.random.default_rng(0).choice([-1, 1], (PATTERNS, n))
    least = difference.sum(1, keepdims=True) - 1e-9
    shares = [
        (difference[k : k + CHUNK] @ signs.T >= least[k : k + CHUNK]).mean(1)
        for k in range(0, len(difference), CHUNK)
    ]
    return np.concatenate(shares)


def wilcoxon(plus: Seeds, minus: Seeds) -> P:
    """Return p-values of Wilcoxon's signed-rank test.

    The estimate that belongs to this test is that of Hodges and Lehmann.
    """
    return np.asarray(stats.wilcoxon(plus - minus, axis=1, alternative="greater").pvalue)


def trimmed(plus: Seeds, minus: Seeds) -> P:
    """Return p-values of Yuen's t test of the trimmed mean."""
    difference, n = np.sort(plus - minus, axis=1), plus.shape[1]
    cut = int(TRIMMED * n)
    kept = difference[:, cut : n - cut]
    winsorised = np.clip(difference, kept[:, :1], kept[:, -1:])
    error = winsorised.std(1, ddof=1) / (1 - 2 * cut / n) / n**0.5
    return np.asarray(special.stdtr(kept.shape[1] - 1, -kept.mean(1) / error))


def mixture(plus: Seeds, minus: Seeds) -> P:
    """Return the larger of two p-values: that of the t test and that of the bootstrap-t."""
    return np.maximum(t_test(plus, minus), bootstrap_t(plus, minus))


METHODS: dict[str, Method] = {
    "t": t_test,
    "Welch, unpaired": welch,
    "Johnson": johnson,
    "Hall": hall,
    "bootstrap-t": bootstrap_t,
    "sign-flips": sign_flips,
    "Wilcoxon": wilcoxon,
    "Yuen, trimmed mean": trimmed,
    "larger p of t and bootstrap-t": mixture,
    "90 % bound of the skewness (before)": former,
    "skewness of the wider arm (chosen)": chosen,
}


def _t(values: Float[np.ndarray, "... seeds"]) -> Float[np.ndarray, "..."]:
    """Return the t statistic over the last axis; 0 if all values are equal."""
    deviation = values.std(-1, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = values.mean(-1) / deviation * values.shape[-1] ** 0.5
    return np.asarray(np.where(deviation > 0, t, 0.0))


def _skewness(values: Seeds) -> P:
    return np.asarray(stats.skew(values, axis=1, bias=False))


def _of_wider(plus: Seeds, minus: Seeds) -> P:
    """Return g, the factor of the correction in ablate.stats.skew, for the lower end of intervals.

    It uses the skewness of the arm that varies more.
    """
    skew = np.where(plus.std(1) >= minus.std(1), _skewness(plus), -_skewness(minus))
    return np.maximum(0.0, ALLOWANCE - FACTOR * skew)


def _corrected(t: P, skew: P, n: int) -> P:
    """Return p-values of t after the correction for skewness.

    This is the p-value of the quantile q that solves q + skew q^2 / (3 sqrt n) = t.
    """
    a = np.maximum(skew / (3 * n**0.5), 1e-12)
    q = np.where(t > 0, (np.sqrt(1 + 4 * a * np.maximum(t, 0.0)) - 1) / (2 * a), t)
    return np.asarray(special.stdtr(n - 1, -q))
