"""One-sided tests of a mean of paired differences, for many sweeps at once.

Each takes the two sums that a contrast subtracts and returns, for every sweep, the p-value against
"the true mean difference is at most 0". The other direction is the same test of the sums exchanged.
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
PATTERNS = 2**12  # of signs: all of them up to 12 seeds
CHUNK = 500  # sweeps whose resamples are held in memory at a time
TRIMMED = 0.2  # share of the seeds, at each end
BOUND = 1.2815515655446004  # standard errors to the upper 90 % bound of the skewness


def t_test(plus: Seeds, minus: Seeds) -> P:
    """Test by the paired t."""
    return np.asarray(special.stdtr(plus.shape[1] - 1, -_t(plus - minus)))


def welch(plus: Seeds, minus: Seeds) -> P:
    """Test by Welch's t of two samples, blind to the pairs."""
    tested = stats.ttest_ind(plus, minus, axis=1, equal_var=False, alternative="greater")
    return np.asarray(tested.pvalue)


def chosen(plus: Seeds, minus: Seeds) -> P:
    """Test as ablate.stats.skew does."""
    t, n = _t(plus - minus), plus.shape[1]
    furthest = -special.stdtrit(n - 1, FURTHEST)
    beyond = special.stdtr(n - 1, -t / (1 + _of_wider(plus, minus) * furthest / (3 * n**0.5)))
    return np.minimum(unlimited(plus, minus), np.where(beyond <= FURTHEST, beyond, 1.0))


def unlimited(plus: Seeds, minus: Seeds) -> P:
    """Test as ablate.stats.skew would, if its correction grew beyond FURTHEST."""
    return _corrected(_t(plus - minus), _of_wider(plus, minus), plus.shape[1])


def johnson(plus: Seeds, minus: Seeds) -> P:
    """Test by Johnson's t, with the sample skewness of the differences."""
    difference, n = plus - minus, plus.shape[1]
    t, g = _t(difference), _skewness(difference)
    return np.asarray(special.stdtr(n - 1, -(t + g * (1 / (6 * n**0.5) + t**2 / (3 * n**0.5)))))


def former(plus: Seeds, minus: Seeds) -> P:
    """Test by Johnson's t with the upper 90 % bound of the skewness, where variances differ."""
    difference, n = plus - minus, plus.shape[1]
    variances = np.sort([plus.var(1), minus.var(1)], axis=0)
    uneven = variances[1] > variances[0] * special.fdtri(n - 1, n - 1, 0.975)
    bound = np.maximum(0.0, BOUND * standard_error(n) - _skewness(difference))
    return _corrected(_t(difference), np.where(uneven, bound, 0.0), n)


def hall(plus: Seeds, minus: Seeds) -> P:
    """Test by Hall's transformation of t."""
    difference, n = plus - minus, plus.shape[1]
    t, g = _t(difference), _skewness(difference)
    moved = t + g * t**2 / (3 * n**0.5) + g**2 * t**3 / (27 * n) + g / (6 * n**0.5)
    return np.asarray(special.stdtr(n - 1, -moved))


def bootstrap_t(plus: Seeds, minus: Seeds) -> P:
    """Test by the bootstrap distribution of t."""
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
    """Test by the share of patterns of signs whose mean is at least as large."""
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
    """Test by signed ranks, whose estimate is Hodges and Lehmann's."""
    return np.asarray(stats.wilcoxon(plus - minus, axis=1, alternative="greater").pvalue)


def trimmed(plus: Seeds, minus: Seeds) -> P:
    """Test by Yuen's t of the trimmed mean."""
    difference, n = np.sort(plus - minus, axis=1), plus.shape[1]
    cut = int(TRIMMED * n)
    kept = difference[:, cut : n - cut]
    winsorised = np.clip(difference, kept[:, :1], kept[:, -1:])
    error = winsorised.std(1, ddof=1) / (1 - 2 * cut / n) / n**0.5
    return np.asarray(special.stdtr(kept.shape[1] - 1, -kept.mean(1) / error))


def mixture(plus: Seeds, minus: Seeds) -> P:
    """Test by the larger p-value of t and of the bootstrap-t."""
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
    """Return t of the last axis; samples of equal values have none, and count as 0."""
    deviation = values.std(-1, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = values.mean(-1) / deviation * values.shape[-1] ** 0.5
    return np.asarray(np.where(deviation > 0, t, 0.0))


def _skewness(values: Seeds) -> P:
    return np.asarray(stats.skew(values, axis=1, bias=False))


def _of_wider(plus: Seeds, minus: Seeds) -> P:
    """Return what the lower end of the interval is corrected for."""
    skew = np.where(plus.std(1) >= minus.std(1), _skewness(plus), -_skewness(minus))
    return np.maximum(0.0, ALLOWANCE - FACTOR * skew)


def _corrected(t: P, skew: P, n: int) -> P:
    """Return p-values of a quantile q that is q + skew q^2 / (3 sqrt n) after its correction."""
    a = np.maximum(skew / (3 * n**0.5), 1e-12)
    q = np.where(t > 0, (np.sqrt(1 + 4 * a * np.maximum(t, 0.0)) - 1) / (2 * a), t)
    return np.asarray(special.stdtr(n - 1, -q))
