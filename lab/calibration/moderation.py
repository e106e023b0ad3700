"""Compare intervals for the effect of an arm in a study of several arms, on simulated studies.

A simulated study is an array of scores, arms by seeds. The compared arms are the first (the
baseline) and the second. All other arms are treatments like the second, or quiet arms, and serve as
a source of variance and skewness. Each rate is that of one comparison, before Holm's correction.
"""

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy import special, stats

from ablate.stats.corrections import ALLOWANCE, FACTOR, FURTHEST
from ablate.stats.moderated import arm_noise
from ablate.verdict.conclude import load_evidence
from ablate.verdict.contrast import scores_of
from lab.calibration.shapes import (
    RATIO,
    SHAPES,
    SHARED,
    Arm,
    Draw,
    exponential,
    heavy,
    lognormal,
    normal,
)

Scores = Float[np.ndarray, "sweeps arms seeds"]
Ends = tuple[Float[np.ndarray, " sweeps"], Float[np.ndarray, " sweeps"]]
Method = Callable[[Scores, Sequence[float]], list[Ends]]  # for each tail probability
Study = Callable[[int, int, int, np.random.Generator], Scores]  # sweeps, arms, seeds
ONE_SIDED, EQUIVALENCE = 0.025, 0.05  # tail probabilities of the two kinds of tests
RHO = 0.2  # correlation of the arms over seeds in studies of power
TESTED = ("superiority", "trend", "equivalence", "non_inferiority")
LEAST_ARMS, LEAST_SEEDS = 3, 5  # of a committed study whose residuals are resampled
LEAST_OWN = 8  # seeds of an arm that is resampled from its own residuals alone
OUTLYING = (4.0, 9.0, 36.0)  # variances of an outlying arm among quiet ones


class Rates(NamedTuple):
    """The rate of false verdicts in the direction with more of them, for both kinds of tests."""

    one_sided: float
    equivalence: float


def textbook(scores: Scores, tails: Sequence[float]) -> list[Ends]:
    """Return the ends of the paired t interval."""
    effect, error = _paired(scores)
    return _symmetric(effect, error, scores.shape[-1] - 1, tails)


def own_skew(scores: Scores, tails: Sequence[float]) -> list[Ends]:
    """Return the ends of the interval that `ablate` uses for a study of two arms (rule 1)."""
    effect, error = _paired(scores)
    return _ends(scores, tails, effect, error, np.full(len(scores), scores.shape[-1] - 1.0))


def moderated(scores: Scores, tails: Sequence[float]) -> list[Ends]:
    """Return the ends of the interval that `ablate` uses for studies (ablate.stats.moderated).

    The last scores of all arms but the baseline may be NaN, for further runs of the baseline.
    """
    n = int(np.isfinite(scores[0, 1]).sum())
    noise = arm_noise(scores, unequal=n < scores.shape[-1])
    if noise is None:
        return own_skew(scores, tails)
    vary = np.isfinite(noise.typical)  # not if the runs of an arm are drawn equal
    if n < scores.shape[-1] and not vary.all():
        return moderated(scores[vary], tails)
    weights = np.zeros(scores.shape[-2])
    weights[:2] = -1.0, 1.0
    error, paired = noise.error(weights, n), scores[..., :n]
    effect, alone = _paired(paired)
    agrees = error.agrees(alone**2 * n, n)
    if further := scores.shape[-1] - n:
        groups, counts = np.stack([weights != 0] * 2), np.array([n, further])
        groups[1, 1:] = False
        parts = noise.parts(weights, groups, counts)
        error = noise.error_of(parts, counts)
        more = scores[:, 0, n:].mean(-1) - paired[:, 0].mean(-1)
        effect = np.where(agrees, effect + parts[:, 1, 0] * more, effect)
    widenings = [error.widening(-1, n), error.widening(1, n)]
    deviation = np.where(agrees, (error.variance / n) ** 0.5, alone)
    df, own_skew_part = np.where(agrees, error.df, n - 1), np.where(agrees, error.own_skew, 1.0)
    widenings = [np.where(agrees, widening, 0.0) for widening in widenings]
    return _ends(paired, tails, effect, deviation, df, own_skew_part, widenings)


METHODS: dict[str, Method] = {
    "t": textbook,
    "rule 1": own_skew,
    "rule 2": moderated,
}


def _paired(scores: Scores) -> Ends:
    differences = scores[:, 1] - scores[:, 0]
    return differences.mean(-1), differences.std(-1, ddof=1) / differences.shape[-1] ** 0.5


def _symmetric(
    effect: np.ndarray, error: np.ndarray, df: np.ndarray | int, tails: Sequence[float]
) -> list[Ends]:
    halves = (-special.stdtrit(df, tail) * error for tail in tails)
    return [(effect - half, effect + half) for half in halves]


def _ends(
    scores: Scores,
    tails: Sequence[float],
    effect: np.ndarray,
    error: np.ndarray,
    df: np.ndarray,
    own_skew_part: np.ndarray | float = 1.0,
    widenings: Sequence[np.ndarray | float] = (0.0, 0.0),
) -> list[Ends]:
    """Return the ends of intervals with the correction of ablate.stats.corrections, as
    ablate.stats.estimate computes them for a single study.
    """
    skewness = stats.skew(scores[:, :2], axis=-1, bias=False)
    wider = scores[:, 1].std(-1) >= scores[:, 0].std(-1)
    skewness = np.where(wider, skewness[:, 1], -skewness[:, 0])
    furthest, root = special.stdtrit(df, FURTHEST), scores.shape[-1] ** 0.5
    intervals = []
    for tail in tails:
        quantile, ends = special.stdtrit(df, tail), []
        for sign, widening in zip((-1, 1), widenings, strict=True):
            skew = np.maximum(0.0, ALLOWANCE + FACTOR * sign * skewness) * own_skew_part
            bent = quantile - skew * quantile * np.maximum(quantile, furthest) / (3 * root)
            ends.append(effect - sign * bent * (1 + widening) * error)
        intervals.append((ends[0], ends[1]))
    return intervals


def false_rates(method: Method, scores: Scores) -> Rates:
    """Return the rates of false verdicts in studies in which nothing is true."""
    rates = []
    for low, high in method(scores, (ONE_SIDED, EQUIVALENCE)):
        rates.append(float(max((low > 0).mean(), (high < 0).mean())))
    return Rates(*rates)


def alike(treatment: Arm, baseline: Arm, ratio: float = 1.0, shared: float = 0.0) -> Study:
    """Return a function that draws studies whose treatments all have the same noise.

    The arguments are those of `lab.calibration.shapes.arms`.
    """

    def draw(sweeps: int, arms: int, seeds: int, rng: np.random.Generator) -> Scores:
        scores = np.empty((sweeps, arms, seeds))
        scores[:, 0] = baseline((sweeps, seeds), rng)
        for arm in range(1, arms):
            scores[:, arm] = ratio * treatment((sweeps, seeds), rng)
        return np.asarray(scores + shared * rng.standard_normal((sweeps, 1, seeds)))

    return draw


def like(draw: Draw) -> Study:
    """Return a function that draws studies whose treatments are all like that of a pair of arms."""

    def study(sweeps: int, arms: int, seeds: int, rng: np.random.Generator) -> Scores:
        first, baseline = draw((sweeps, seeds), rng)
        further = [draw((sweeps, seeds), rng)[0] for _ in range(arms - 2)]
        return np.stack([baseline, first, *further], axis=1)

    return study


def with_further_runs(study: Study) -> Study:
    """Return a function that draws studies whose baseline has more seeds than the other arms, by
    Dunnett's rule.
    """

    def draw(sweeps: int, arms: int, seeds: int, rng: np.random.Generator) -> Scores:
        scores = study(sweeps, arms, math.ceil(seeds * (arms - 1) ** 0.5), rng)
        scores[:, 1:, seeds:] = np.nan
        return scores

    return draw


def correlated(rho: float) -> Study:
    """Return a function that draws studies with normal noise and a correlation over seeds."""

    def draw(sweeps: int, arms: int, seeds: int, rng: np.random.Generator) -> Scores:
        scores = (1 - rho) ** 0.5 * rng.standard_normal((sweeps, arms, seeds))
        return np.asarray(scores + rho**0.5 * rng.standard_normal((sweeps, 1, seeds)))

    return draw


def outlying(arm: Arm, variance: float, place: int = 1) -> Study:
    """Return a function that draws studies of quiet normal arms with variance 1, but for one.

    Args:
        arm: draws the noise of the outlying arm.
        variance: variance of this arm.
        place: 1 if this arm is the compared treatment, 0 if it is the baseline.
    """

    def draw(sweeps: int, arms: int, seeds: int, rng: np.random.Generator) -> Scores:
        scores = rng.standard_normal((sweeps, arms, seeds))
        scores[:, place] = variance**0.5 * arm((sweeps, seeds), rng)
        return scores

    return draw


class Residuals(NamedTuple):
    """The noise of the runs of a committed study, in one metric.

    `deviations` has the standard deviation of each arm. `pool` has the residuals of all arms, each
    divided by the standard deviation of its arm, with a mean of 0 and a variance of 1. `rows` has
    the residuals of each arm as they are.
    """

    deviations: Float[np.ndarray, " arms"]
    pool: Float[np.ndarray, " runs"]
    rows: list[Float[np.ndarray, " seeds"]]


def committed(folder: Path) -> list[Residuals]:
    """Return the residuals of every study in a folder, such as `experiments`, and of each metric
    that its claims test on at least three arms with five seeds or more.
    """
    studies = []
    for path in sorted(folder.glob("*/runs.jsonl*")):
        evidence = load_evidence(path.parent)
        claims = evidence.study["claims"]
        for metric in dict.fromkeys(c["metric"] for c in claims if c["kind"] in TESTED):
            rows = [row[np.isfinite(row)] for row in scores_of(metric, evidence).values()]
            rows = [row for row in rows if len(row) >= LEAST_SEEDS and np.ptp(row) > 0]
            if len(rows) >= LEAST_ARMS:
                studies.append(_residuals(rows))
    return studies


def _residuals(rows: Sequence[np.ndarray]) -> Residuals:
    pool = np.concatenate([(row - row.mean()) / row.std(ddof=1) for row in rows])
    deviations = np.array([row.std(ddof=1) for row in rows])
    return Residuals(deviations, pool / pool.std(), [row - row.mean() for row in rows])


def resampled(studies: Sequence[Residuals]) -> Study:
    """Return a function that draws studies from the residuals of committed runs.

    The arms of a drawn study have the standard deviations of arms of one committed study, and noise
    that is drawn from its residuals.
    """

    def draw(sweeps: int, arms: int, seeds: int, rng: np.random.Generator) -> Scores:
        scores = np.empty((sweeps, arms, seeds))
        for sweep, which in enumerate(rng.integers(0, len(studies), sweeps)):
            deviations = rng.choice(studies[which].deviations, arms)
            scores[sweep] = deviations[:, None] * rng.choice(studies[which].pool, (arms, seeds))
        return scores

    return draw


def resampled_arms(studies: Sequence[Residuals]) -> Study:
    """Return a function that draws studies whose arms differ in the shape of their noise, too: each
    arm has the residuals of one committed arm with at least `LEAST_OWN` seeds.
    """
    long = [[row for row in study.rows if len(row) >= LEAST_OWN] for study in studies]
    usable = [rows for rows in long if len(rows) >= LEAST_ARMS]

    def draw(sweeps: int, arms: int, seeds: int, rng: np.random.Generator) -> Scores:
        scores = np.empty((sweeps, arms, seeds))
        enough = [rows for rows in usable if len(rows) >= arms] or usable
        for sweep, which in enumerate(rng.integers(0, len(enough), sweeps)):
            rows = enough[which]
            chosen = rng.choice(len(rows), arms, replace=len(rows) < arms)
            scores[sweep] = [rng.choice(rows[arm], seeds) for arm in chosen]
        return scores + 1e-9 * rng.standard_normal(scores.shape)  # no arm without variation

    return draw


def power(
    method: Method, arms: int, seeds: int, sweeps: int, rho: float = RHO, *, further: bool = False
) -> float:
    """Return the power of the verdict "large enough to matter" for an effect of two margins.

    The noise is normal and alike in all arms, and the margin is one standard deviation of a paired
    difference.

    Args:
        method: the interval.
        arms: number of arms.
        seeds: number of seeds of each arm.
        sweeps: number of simulated studies.
        rho: correlation of the arms over seeds.
        further: whether the baseline has more seeds, by Dunnett's rule.
    """
    rng, study = np.random.default_rng([9, seeds, arms]), correlated(rho)
    scores = (with_further_runs(study) if further else study)(sweeps, arms, seeds, rng)
    margin = (2 * (1 - rho)) ** 0.5
    scores[:, 1:] += 2 * margin
    return float((method(scores, [ONE_SIDED])[0][0] > margin).mean())


def limit(seeds: int) -> float:
    """Return this power if the variance were known."""
    return float(special.ndtr(seeds**0.5 + special.ndtri(ONE_SIDED)))


def _gamma(shape: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    return (4 - rng.gamma(4.0, size=shape)) / 2


def _laplace(shape: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    return rng.laplace(size=shape) / 2**0.5


def _uniform(shape: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    return rng.uniform(-(3**0.5), 3**0.5, size=shape)


def _clusters(shape: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    return (2.0 * rng.choice([-1, 1], shape) + rng.standard_normal(shape)) / 5**0.5


def _contaminated(shape: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    wide = np.where(rng.random(shape) < 0.1, 5.0, 1.0)
    return wide * rng.standard_normal(shape) / 3.4**0.5


def _uneven(sweeps: int, arms: int, seeds: int, rng: np.random.Generator) -> Scores:
    """Draw normal noise whose variance differs from arm to arm: a scaled inverse chi-square with 4
    degrees of freedom, the model of Smyth.
    """
    deviations = (4 / rng.chisquare(4, (sweeps, arms, 1))) ** 0.5
    return np.asarray(deviations * rng.standard_normal((sweeps, arms, seeds)))


SHARED_SEEDS = "lognormal, variance x6, seeds shared"
ALIKE: dict[str, Study] = {name: like(draw) for name, draw in SHAPES.items()} | {
    SHARED_SEEDS: alike(lognormal(0.65), lognormal(0.65), RATIO, SHARED)
}
# Shapes that were not used to choose the constants of the method.
ASIDE: dict[str, Study] = {
    "gamma (4), variance x4": alike(_gamma, _gamma, 2.0),
    "gamma (4), normal baseline": alike(_gamma, normal),
    "Laplace, variance x6": alike(_laplace, _laplace, 6**0.5),
    "uniform, variance x6": alike(_uniform, _uniform, 6**0.5),
    "two clusters": alike(_clusters, _clusters),
    "contaminated normal": alike(_contaminated, _contaminated),
    "normal, variance x100": alike(normal, normal, 10.0),
    "normal, variances of all arms differ": _uneven,
}
OUTLIERS: dict[str, Study] = {
    **{f"one normal arm, variance x{v:g}": outlying(normal, v) for v in OUTLYING},
    "one normal baseline, variance x9": outlying(normal, 9.0, 0),
    "one arm of t with 3 df, variance x9": outlying(heavy, 9.0),
}
SKEWED_OUTLIERS: dict[str, Study] = {
    f"one {name} arm, variance x{v:g}": outlying(arm, v)
    for name, arm in (("exponential", exponential), ("lognormal", lognormal(0.65)))
    for v in OUTLYING
}
