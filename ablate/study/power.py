"""What a design could have seen, and how many seeds would decide.

For a normal mean with estimated spread the chance of a verdict is an integral over the chi-square
of the spread (with one level of noise: the noncentral t), taken at 400 equally likely values of it.
The noise is taken as measured, so the answers are as rough as it is: with 5 seeds the spread is
known to a factor of about 1.7 either way.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from jaxtyping import Bool, Float
from scipy import optimize, stats

from ablate.study.estimate import Estimate, half_width
from ablate.study.rates import Rates, p_values
from ablate.study.verdict import EQUIVALENCE, REFUTED, SUPPORTED, Tested

POWER = 0.8
VALUES = 400  # of the chi-square
MOST_SEEDS = 1000
MOST_RUNS = 100  # of a stability claim: its tables grow with the square
Claim = dict[str, Any]
Chances = dict[str, float]


def chances(claim: Claim, found: Estimate, truth: float, pairs: int, alpha: float) -> Chances:
    """Chance of each verdict with this many pairs of the same noise, were `truth` the effect."""
    spread = found.seed_variance / pairs
    error = np.sqrt(spread + found.sentence_variance)
    if claim["kind"] == EQUIVALENCE:
        margin, half = claim["margin"], _halves(found, pairs, alpha)
        inside = _between(truth, error, half - margin, margin - half)
        half = _halves(found, pairs, alpha / 2)
        outside = stats.norm.sf((margin + half - truth) / error)
        outside = outside + stats.norm.sf((margin + half + truth) / error)
        return {SUPPORTED: float(inside.mean()), REFUTED: float(outside.mean())}
    half = _halves(found, pairs, alpha / 2)
    above = stats.norm.sf((np.maximum(half, claim["margin"]) - truth) / error)
    below = stats.norm.cdf((claim["margin"] - half - truth) / error)
    return {SUPPORTED: float(above.mean()), REFUTED: float(below.mean())}


def detectable(claim: Claim, found: Tested, alpha: float) -> float | None:
    """Smallest true effect that this design shows to be above 0 with power .8.

    For equivalence: the smallest margin within which arms that are truly equal are shown to be so.
    For stability: the smallest share, when no run of the other arm goes wrong.
    """
    if isinstance(found, Rates):
        return _detectable_share(found, alpha)
    if found.pairs < 2 or not found.error > 0:
        return None
    equal = claim["kind"] == EQUIVALENCE
    whole = {**claim, "margin": 0.0}

    def missing(x: float) -> float:
        asked = {**claim, "margin": x} if equal else whole
        truth = 0.0 if equal else x
        return chances(asked, found, truth, found.pairs, alpha)[SUPPORTED] - POWER

    high = found.error
    while missing(high) < 0:
        high *= 2
    return float(optimize.brentq(missing, 0.0, high, rtol=1e-4))


def seeds_needed(claim: Claim, found: Tested, alpha: float) -> int | None:
    """Seeds with which the rule decides with power .8, if effect and noise are as measured.

    None when no number of seeds does: the test sentences are too few, or the effect lies at a
    bound of the rule.
    """
    if isinstance(found, Rates):
        return _runs_needed(claim, found, alpha)
    if found.pairs < 2 or not found.error > 0:
        return None

    def enough(pairs: int) -> bool:
        return max(chances(claim, found, found.effect, pairs, alpha).values()) >= POWER

    return _first(enough, found.pairs + 1, MOST_SEEDS)


def _halves(found: Estimate, pairs: int, tail: float) -> Float[np.ndarray, " values"]:
    """Half-widths of the interval for equally likely values of the estimated spread."""
    of_seeds = found.seed_variance / pairs * _chi2(pairs - 1) / (pairs - 1)
    return half_width(tail, pairs, of_seeds, found.sentences, found.sentence_variance)


@lru_cache(maxsize=64)
def _chi2(df: int) -> Float[np.ndarray, " values"]:
    return stats.chi2.ppf((np.arange(VALUES) + 0.5) / VALUES, df)


def _between(
    truth: float,
    error: float,
    low: Float[np.ndarray, " values"],
    high: Float[np.ndarray, " values"],
) -> Float[np.ndarray, " values"]:
    chance = stats.norm.cdf((high - truth) / error) - stats.norm.cdf((low - truth) / error)
    return np.maximum(chance, 0.0)


def _first(enough: Callable[[int], bool], low: int, high: int) -> int | None:
    """Smallest number for which `enough` holds, given that it then holds for all larger ones."""
    if not enough(high):
        return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle + 1, high)
    return low


def _detectable_share(found: Rates, alpha: float) -> float | None:
    if not found.known:
        return None
    rejected = p_values(found.of_first, found.of_second, 0.0)[:, 0] <= alpha / 2
    events = np.arange(found.of_first + 1)
    for share in np.arange(1, 101) / 100:
        if stats.binom.pmf(events, found.of_first, share)[rejected].sum() >= POWER:
            return float(share)
    return None


def _runs_needed(claim: Claim, found: Rates, alpha: float) -> int | None:
    if not found.known:
        return None

    def enough(runs: int) -> bool:
        ones = stats.binom.pmf(np.arange(runs + 1), runs, found.first / found.of_first)
        twos = stats.binom.pmf(np.arange(runs + 1), runs, found.second / found.of_second)
        chance = ones[:, None] * twos[None, :]
        return any(chance[decided].sum() >= POWER for decided in _decided(claim, runs, alpha))

    return _first(enough, found.pairs + 1, MOST_RUNS)


def _decided(claim: Claim, runs: int, alpha: float) -> list[Bool[np.ndarray, "a b"]]:
    """Tables that are supported, and tables that are refuted."""
    share = np.arange(runs + 1) / runs
    large = share[:, None] - share[None, :] >= claim["margin"]
    p_above = p_values(runs, runs, 0.0)
    p_below = p_values(runs, runs, -claim["margin"]).T
    return [(p_above <= alpha / 2) & large, p_below <= alpha / 2]
