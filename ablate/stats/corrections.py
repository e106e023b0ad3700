"""Correct t intervals for skewed noise, state how often verdicts are false all the same, and spend
alpha over interim analyses.

Suppose that an arm sometimes does much worse than usual. Seeds that miss the bad runs give a mean
that is too high *and* a standard deviation that is too small, so a t test declares the arm better
too often. If two arms vary alike, their tails cancel in the difference. Therefore the correction
uses the skewness of the arm (or weighted sum of arms) that varies more over the seeds.
Equation: at each end of the interval, the quantile q of t becomes q + g q^2 / (3 sqrt n), with n
seeds and g = max(0, 1/2 + 3 s). Here s is the sample skewness of this arm; it is positive if the
long tail of the differences points to this end. The ratio of the corrected to the uncorrected
quantile is kept constant beyond the 2.5 % point of t.
Source: Johnson 1978, Journal of the American Statistical Association 73, 536, for the quantile.
What differs: Johnson takes g = s, the skewness of the differences. Ten seeds underestimate a
skewness of 2 by half, and the noise of the other arm hides the skewness. The two constants in g are
a trade-off between error rate and power (docs/explanation/statistics.md). `python -m
lab.robustness` measures the error rates. Johnson's term is the first of an expansion around the
centre. In the far tail, which Holm's correction needs, this quadratic term would outgrow the
quantile, so that five skewed seeds could not show any effect, however large.

**False verdicts.** The tables of this module have the largest measured rate over all kinds of noise
(docs/explanation/calibration.md). Where the error is borrowed from the other arms of a study, the
rates are those of `python -m lab.moderation` (docs/explanation/moderation.md); they are largest if
one arm is skewed and all others are quiet. Every verdict on a mean states this rate, even if the
noise looks normal, because a few seeds may not show a long tail. Beside the rate, the verdict names
the reason: few seeds, visible skewness, two clusters, or a tail that so few seeds cannot show.

**Interim analyses.** If results are analysed repeatedly, and the study continues until they are
significant, errors are more frequent than alpha. So alpha is spent gradually: after a fraction t of
the planned seeds, f(t) of it is spent,

    f(t; a) = 2 - 2 Phi(z_(a/2) / sqrt t),

little at first, all of it at the end, for any number and times of analyses. The bound of an
analysis follows from earlier bounds, by integrating the density of the continuing tests (Armitage,
McPherson & Rowe 1969). Tests are one-sided. Stopping because of another test, or for futility, only
makes errors rarer (non-binding). p-values are converted to *repeated* p-values: the smallest level
at which this analysis would have been significant. They are compared with alpha like other
p-values, and Holm's correction can be applied to them: this is Maurer & Bretz's graphical
procedure, in which each claim spends alpha separately. An interval at the level of an analysis is a
repeated confidence interval, which is valid for any stopping rule.

Source: Lan & DeMets 1983, Biometrika 70, 659; Jennison & Turnbull 1989, JRSS B 51, 305; Maurer &
Bretz 2013, Statistics in Biopharmaceutical Research 5, 311; Liu & Anderson 2008.
Differs: t is the fraction of the seeds. The error due to the test sentences is the same at all
analyses. So the analyses are more alike than assumed, and errors are rarer. p-values of t tests are
treated like those of z tests.
"""

import math
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.special import ndtr, ndtri

from ablate.stats import at_most

ALLOWANCE, FACTOR = 0.5, 3.0  # the constants of g = max(0, ALLOWANCE + FACTOR s)
FURTHEST = 0.025  # tail up to which the correction grows with the quantile
VISIBLE = 0.025  # one-sided probability below which a skewness is called visible
ENOUGH = 10  # number of seeds from which the nominal level holds within 1.5 points
APART = 0.5  # smallest gap between two clusters, as a fraction of the range
FEW, SKEWED, CLUSTERED = "few seeds", "visible skewness", "two clusters"
HIDDEN = "a tail too long for so few seeds to show"
MeasuredRates = dict[int, tuple[float, float]]
# by number of seeds: rates of one-sided tests (nominal 0.025), and of equivalence (nominal 0.05)
PAIRED = {
    3: (0.057, 0.095),
    5: (0.065, 0.113),
    7: (0.067, 0.102),
    10: (0.060, 0.097),
    20: (0.051, 0.074),
}
BORROWED = {3: (0.150, 0.190), 5: (0.118, 0.145), 10: (0.069, 0.107), 20: (0.048, 0.075)}
# with more seeds of the baseline than of the other arms
FURTHER = {3: (0.212, 0.249), 5: (0.157, 0.190), 10: (0.096, 0.131), 20: (0.064, 0.092)}
# the largest measured rate with which two identical arms differ (nominal 0.05), by number of seeds,
# if each arm is tuned once for all seeds (docs/explanation/calibration.md)
TUNED_ONCE = {5: 0.054, 10: 0.136, 20: 0.203}

Seeds = Float[np.ndarray, " seeds"]
Quantile = Any  # a number, or an array of numbers


def skewness(values: Seeds) -> float:
    """Return the sample skewness, corrected for its bias under normality; 0 for fewer than three
    values.
    """
    n = len(values)
    if n < 3 or at_most(float(np.ptp(values)), 0.0, float(np.abs(values).max())):
        return 0.0
    distances = values - values.mean()
    distances = distances / np.abs(distances).max()  # so that powers cannot overflow
    spread = (distances**2).mean()
    return float((distances**3).mean() / spread**1.5 * (n * (n - 1)) ** 0.5 / (n - 2))


def skewness_of_more_variable_arm(added: Seeds, subtracted: Seeds) -> float:
    """Return the skewness of the arm that varies more over the seeds: `added` or `subtracted`.

    The sign is reversed for `subtracted`, whose scores are subtracted in the difference.
    """
    return skewness(added) if added.std() >= subtracted.std() else -skewness(subtracted)


def correction(towards: float) -> float:
    """Return g, the factor of the correction for skewness (see the equation of this module), for
    one end of the t interval.

    `towards` is the sample skewness, positive if the long tail points to this end.
    """
    return max(0.0, ALLOWANCE + FACTOR * towards)


def corrected_t(quantile: float, furthest: float, skew: Quantile, seeds: int) -> Quantile:
    """Return a lower quantile of t after the correction for skewness.

    Args:
        quantile: uncorrected quantile, at most 0.
        furthest: uncorrected quantile for the tail probability FURTHEST; further out, the
            correction grows only in proportion to the quantile.
        skew: result of `correction`.
        seeds: number of differences.
    """
    return quantile - skew * quantile * max(quantile, furthest) / (3 * math.sqrt(seeds))


def uncorrected_t(t: float, furthest: float, skew: float, seeds: int) -> float:
    """Return the quantile for which `corrected_t` returns `t`: the inverse of `corrected_t`.

    Args:
        t: corrected quantile, at most 0.
        furthest, skew, seeds: the other arguments of `corrected_t`.
    """
    bend = skew / (3 * math.sqrt(seeds))
    quantile = 2 * t / (1 + math.sqrt(1 - 4 * bend * t))
    return quantile if quantile >= furthest else t / (1 - bend * furthest)


def skewness_standard_error(n_seeds: int) -> float:
    """Return the standard deviation of the sample skewness of `n_seeds` normal values."""
    n = max(n_seeds, 3)
    return float((6 * n * (n - 1) / ((n - 2) * (n + 1) * (n + 3))) ** 0.5)


def is_visible(skewness: float, seeds: int) -> bool:
    """Return whether a sample skewness of this size, of either sign, is rare in normal values."""
    return abs(skewness) > -float(ndtri(VISIBLE)) * skewness_standard_error(seeds)


def false_rate(seeds: int, *, equivalence: bool, measured: MeasuredRates = PAIRED) -> float:
    """Return the largest measured rate of false verdicts for a number of seeds.

    For a number between two simulated numbers of seeds, return the larger of their two rates.

    Args:
        seeds: number of paired seeds.
        equivalence: whether the claim is one of equivalence, which is tested at alpha = 0.05
            instead of 0.025.
        measured: the rates of the test: `PAIRED`, or `BORROWED` or `FURTHER` if the error comes
            from all arms of a study (ablate.stats.moderated).
    """
    below = max((n for n in measured if n <= seeds), default=min(measured))
    above = min((n for n in measured if n >= seeds), default=max(measured))
    return max(measured[below][equivalence], measured[above][equivalence])


def visible_noise(skewness: float, differences: Seeds) -> str:
    """Return why verdicts on paired differences may be false more often than the level promises."""
    if is_visible(skewness, len(differences)):
        return SKEWED
    if in_clusters(differences):
        return CLUSTERED
    return FEW if len(differences) < ENOUGH else HIDDEN


def in_clusters(values: Seeds) -> bool:
    """Return whether the values form two clusters: at least two seeds on either side of a gap that
    is wider than half of the range.
    """
    ordered = np.sort(values)
    gaps = [high - low for low, high in pairwise(ordered)][1:-1]
    return bool(gaps and max(gaps) > APART * (ordered[-1] - ordered[0]))


ONCE = (1.0,)  # a single analysis, of all planned seeds
PROBITS = np.linspace(-8.2, 3.0, 141)  # probits of the levels for which bounds are computed
FAR = 8.5  # standard deviations beyond which nothing is integrated
NODES, WEIGHTS = np.polynomial.legendre.leggauss(96)
HALVINGS = 60
Fractions = tuple[float, ...]  # fraction of the planned seeds at each analysis, ascending
Bounds = Float[np.ndarray, " levels"]
Levels = Any  # a number, or an array of numbers


def spent_level(level: Levels, fraction: float) -> Levels:
    """Return the part of a one-sided level (or of each of several levels) that may be spent once
    `fraction` of the planned seeds have run.
    """
    return level if fraction >= 1 else 2 * ndtr(ndtri(level / 2) / fraction**0.5)


def nominal(level: float, fractions: Fractions) -> float:
    """Return the one-sided level at which the last analysis is tested, so that all analyses
    together have the error rate `level`.

    `fractions` has the fraction of the planned seeds at each analysis.
    """
    if fractions == ONCE:
        return level
    return float(ndtr(np.interp(ndtri(level), PROBITS, _critical_values(fractions))))


def repeated_p_value(p: float, fractions: Fractions) -> float:
    """Return the repeated p-value: the overall level at which the last analysis is just
    significant.

    `p` is the p-value of the last analysis; `fractions` has the fraction of the planned seeds at
    each analysis.
    """
    if fractions == ONCE:
        return p
    return max(p, float(ndtr(np.interp(ndtri(p), _critical_values(fractions), PROBITS))))


@lru_cache(maxsize=256)
def _critical_values(fractions: Fractions) -> Bounds:
    """Return the critical z value of the last analysis for each overall significance level. The
    levels are given as probits in PROBITS.

    `fractions` has the information fractions of all analyses. A critical value is the probit of a
    p-value.
    """
    levels = ndtr(PROBITS)
    first, *later = fractions
    # bounds of the sum over the seeds so far, whose variance is the fraction of the seeds
    bound = -ndtri(spent_level(levels, first)) * first**0.5
    at, mass = _nodes(bound, first)
    mass = mass * _density(at, first)
    for before, now in zip(fractions, later, strict=False):
        step = now - before
        bound = _crossed(at, mass, step, spent_level(levels, now) - spent_level(levels, before))
        after, width = _nodes(bound, now)
        moved = _density(after[:, :, None] - at[:, None, :], step)
        at, mass = after, width * np.einsum("lij,lj->li", moved, mass)
    return np.asarray(-bound / fractions[-1] ** 0.5)


def _nodes(bound: Bounds, fraction: float) -> tuple[np.ndarray, np.ndarray]:
    """Return nodes and weights to integrate over the test statistics below each bound.

    With a statistic below the bound, a study continues. The nodes are those of Gauss-Legendre
    quadrature.
    """
    low, high = -FAR * fraction**0.5, np.minimum(bound, FAR * fraction**0.5)
    half = (high - low)[:, None] / 2
    return low + half * (NODES + 1), half * WEIGHTS


def _density(x: np.ndarray, variance: float) -> np.ndarray:
    return np.asarray(np.exp(-(x**2) / (2 * variance)) / (2 * np.pi * variance) ** 0.5)


def _crossed(at: np.ndarray, mass: np.ndarray, step: float, wanted: Bounds) -> Bounds:
    """Return the bound that the test statistic first exceeds at this analysis with probability
    `wanted`.

    Args:
        at: nodes of the test statistic at the previous analysis.
        mass: probabilities at these nodes.
        step: variance that the statistic gains between both analyses.
        wanted: probability to be spent at this analysis, for each level.
    """
    low, high = np.full_like(wanted, -FAR), np.full_like(wanted, 5 * FAR)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        above = (mass * ndtr((at - middle[:, None]) / step**0.5)).sum(1) > wanted
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return (low + high) / 2
