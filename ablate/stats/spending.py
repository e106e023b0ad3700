"""Spend alpha over interim analyses, with O'Brien-Fleming-type spending.

If results are analysed repeatedly, and the study continues until they are significant, errors are
more frequent than alpha. So alpha is spent gradually: after a fraction t of the planned seeds, f(t)
of it is spent,

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

from functools import lru_cache

import numpy as np
from jaxtyping import Float
from scipy.special import ndtr, ndtri

ONCE = (1.0,)  # a single analysis, of all planned seeds
PROBITS = np.linspace(-8.2, 3.0, 141)  # probits of the levels for which bounds are computed
FAR = 8.5  # standard deviations beyond which nothing is integrated
NODES, WEIGHTS = np.polynomial.legendre.leggauss(96)
HALVINGS = 60
Fractions = tuple[float, ...]  # fraction of the planned seeds at each analysis, ascending
Bounds = Float[np.ndarray, " levels"]


def spent(level: float, share: float) -> float:
    """Return the part of a one-sided level that may be spent once `share` of the planned seeds have
    run.
    """
    return level if share >= 1 else float(_spent(np.array([level]), share)[0])


def nominal(level: float, fractions: Fractions) -> float:
    """Return the one-sided level at which the last analysis is tested, so that all analyses
    together have the error rate `level`.

    `fractions` has the fraction of the planned seeds at each analysis.
    """
    if fractions == ONCE:
        return level
    return float(ndtr(np.interp(ndtri(level), PROBITS, _bounds(fractions))))


def repeated(p: float, fractions: Fractions) -> float:
    """Return the repeated p-value: the overall level at which the last analysis is just
    significant.

    `p` is the p-value of the last analysis; `fractions` has the fraction of the planned seeds at
    each analysis.
    """
    if fractions == ONCE:
        return p
    return max(p, float(ndtr(np.interp(ndtri(p), _bounds(fractions), PROBITS))))


def _spent(level: Bounds, share: float) -> Bounds:
    return np.asarray(2 * ndtr(ndtri(level / 2) / share**0.5))


@lru_cache(maxsize=256)
def _bounds(fractions: Fractions) -> Bounds:
    """Return the critical value of the last analysis for each overall level in PROBITS.

    A critical value is the probit of a p-value.
    """
    levels = ndtr(PROBITS)
    first, *later = fractions
    # bounds of the sum over the seeds so far, whose variance is the fraction of the seeds
    bound = -ndtri(_spent(levels, first)) * first**0.5
    at, mass = _nodes(bound, first)
    mass = mass * _density(at, first)
    for before, now in zip(fractions, later, strict=False):
        step = now - before
        bound = _crossed(at, mass, step, _spent(levels, now) - _spent(levels, before))
        after, width = _nodes(bound, now)
        moved = _density(after[:, :, None] - at[:, None, :], step)
        at, mass = after, width * np.einsum("lij,lj->li", moved, mass)
    return np.asarray(-bound / fractions[-1] ** 0.5)


def _nodes(bound: Bounds, share: float) -> tuple[np.ndarray, np.ndarray]:
    """Return nodes and weights to integrate over the test statistics below each bound.

    With a statistic below the bound, a study continues. The nodes are those of Gauss-Legendre
    quadrature.
    """
    low, high = -FAR * share**0.5, np.minimum(bound, FAR * share**0.5)
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
