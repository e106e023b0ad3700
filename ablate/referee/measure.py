"""From the runs of a table to the effect of each claim."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ablate.errors import UserError
from ablate.evidence.foreign.table import Numbers, Rows, label_of
from ablate.referee.question import FEW, LEAVE_OUT, Claim
from ablate.referee.runs import ALL_RUNS, Runs
from ablate.stats.means import (
    MeanDifference,
    Variance,
    contrast,
    mean_of,
    pooled,
    slope,
    variance_of,
)
from ablate.stats.rates import Rates
from ablate.verdict.kind import KINDS

OVER_ALL = "over all"  # the group of a verdict on several datasets
PAIRED, WELCH, TARGET = "paired t", "Welch's t", "one-sample t"
CONTRAST, SLOPE, SLOPES = "t of a contrast", "least squares", "t over the slopes of pairs"
LEAST_LEVELS = 2  # of a trend


@dataclass(frozen=True)
class Arm:
    """The runs of an arm of a claim.

    Args:
        label: as a person says it.
        weight: with which its mean enters the effect, in units of the metric.
        rows: places of its runs, those without a value too.
        values: its results.
        without: number of its runs without a value.
        source: where its noise comes from, if not from itself.
    """

    label: str
    weight: float
    rows: np.ndarray
    values: Numbers
    without: int
    source: str = ""

    @property
    def runs(self) -> int:
        """Number of its runs, those without a value too."""
        return len(self.rows)


@dataclass(frozen=True)
class Measured:
    """What the runs say of a claim, before its verdict.

    Args:
        group: the dataset that the claim is about, or `OVER_ALL`; "" where there is one.
        effect: positive where the treatment is better.
        p: one-sided p-values by decision, not adjusted.
        failures: the rates of failed runs, where they decide.
        problem: why there is nothing to judge.
        incomplete: pairs that lack an arm or a value.
        spread: standard deviation of the true effects between datasets, of a verdict over all.
    """

    claim: Claim
    group: str
    arms: tuple[Arm, ...]
    effect: MeanDifference | Rates
    p: dict[str, float]
    failures: Rates | None = None
    problem: str = ""
    incomplete: int = 0
    spread: float | None = None
    groups: int = 0


def expanded(claim: Claim, runs: Runs) -> Iterator[Claim]:
    """Yield the claim, or a claim for each arm where it names no treatment."""
    if claim.treatment is not None or claim.kind == "trend":
        yield claim
        return
    arms = runs.arms
    if claim.target is None:
        runs.of_arm(claim.baseline, "baseline")  # raises for one that is not there
        arms = [arm for arm in arms if arm != label_of(claim.baseline)]
    if not arms:
        raise UserError(f"baseline={claim.baseline}: there is no other arm to compare with it")
    for arm in arms:
        yield replace(claim, treatment=arm, id=arm if len(arms) > 1 else claim.id)


def as_target(claim: Claim, runs: Runs) -> Claim:
    """Return the claim with a number as its target, where no arm is called so."""
    if claim.baseline is None or isinstance(claim.baseline, bool | Mapping):
        return claim
    try:
        target = float(claim.baseline)
    except (TypeError, ValueError):
        return claim
    if label_of(claim.baseline) in runs.arms:
        return claim
    return replace(claim, baseline=None, target=target)


def measure(claim: Claim, runs: Runs) -> list[Measured]:
    """Return the effect of a claim on each dataset, and over all of them.

    Raises:
        UserError: an arm has no runs, or a pair occurs twice in it.
    """
    design = runs.design
    if not design.group:
        return [_measure(claim, runs, np.ones(runs.table.rows, dtype=bool), "")]
    places, labels = runs.table.column(design.group, "group").labels()
    found = [_measure(claim, runs, places == k, label) for k, label in enumerate(labels)]
    return [*found, _over_all(claim, found)] if len(found) > 1 else found


def _over_all(claim: Claim, found: list[Measured]) -> Measured:
    """Take each dataset as one observation: the verdict is about other datasets like these."""
    effects = [one.effect for one in found if not math.isnan(one.effect.effect)]
    values = np.array([effect.effect for effect in effects])
    method = "t over datasets"
    if claim.kind == "stability":
        effect: MeanDifference | Rates = _sum([e for e in effects if isinstance(e, Rates)])
        return Measured(claim, OVER_ALL, (), effect, _tests(claim, effect), groups=len(effects))
    effect = mean_of(values, method)
    errors = [e.error for e in effects if isinstance(e, MeanDifference)]
    spread = None
    if len(values) > 1 and all(math.isfinite(error) for error in errors):
        spread = math.sqrt(max(0.0, float(values.var(ddof=1)) - float(np.square(errors).mean())))
    p = _tests(claim, effect)
    return Measured(claim, OVER_ALL, (), effect, p, spread=spread, groups=len(values))


def _sum(rates: list[Rates]) -> Rates:
    return Rates(
        *(
            sum(column)
            for column in zip(
                *((r.first, r.of_first, r.second, r.of_second) for r in rates), strict=True
            )
        )
    )


def _measure(claim: Claim, runs: Runs, rows: Rows, group: str) -> Measured:
    if claim.kind == "trend":
        return _trend(claim, runs, rows, group)
    arms = tuple(_arms(claim, runs, rows))
    if claim.kind == "stability":
        return _judgeable(claim, group, arms, _failure_rates(arms))
    effect, incomplete = _effect(claim, runs, arms)
    found = _judgeable(claim, group, arms, effect, incomplete)
    if runs.design.missing == LEAVE_OUT or not any(arm.without for arm in arms):
        return found
    return _with_failures(found)


def _judgeable(
    claim: Claim,
    group: str,
    arms: tuple[Arm, ...],
    effect: MeanDifference | Rates,
    incomplete: int = 0,
) -> Measured:
    problem = _problem(arms, effect)
    return Measured(claim, group, arms, effect, _tests(claim, effect), None, problem, incomplete)


def _tests(claim: Claim, effect: MeanDifference | Rates) -> dict[str, float]:
    return KINDS[claim.kind].tests(effect, claim.margin)


def _problem(arms: tuple[Arm, ...], effect: MeanDifference | Rates) -> str:
    if isinstance(effect, Rates):
        return "" if effect.known else "an arm has no runs here"
    if math.isnan(effect.effect):
        return "an arm has no run with a value here"
    if not effect.parts:
        single = any(len(arm.values) == 1 for arm in arms)
        return "a single run shows no run-to-run variation" if single else "too few runs"
    return ""


def _with_failures(found: Measured) -> Measured:
    """Decide by the rates of failure, else by the mean; each has half of alpha."""
    rates = _failure_rates(found.arms)
    if not rates.known:
        return found
    kind = KINDS[found.claim.kind]
    tests = _halved(kind.of_failures(rates.p_at_most(0.0), rates.p_at_least(0.0)))
    if min(kind.scaled(tests).values()) <= found.claim.alpha:
        return replace(found, p=tests, failures=rates, problem="")
    return replace(found, p=_halved(found.p))


def _halved(p: dict[str, float]) -> dict[str, float]:
    return {side: min(1.0, 2 * x) for side, x in p.items()}


def _failure_rates(arms: tuple[Arm, ...]) -> Rates:
    """Failures of the arms that count against the treatment, and of those that count for it."""
    first, second = ([arm for arm in arms if (arm.weight > 0) == plus] for plus in (False, True))
    better_first = (first, second) if arms[0].weight > 0 else (second, first)
    failed, ended = (
        [sum(getattr(arm, count) for arm in side) for side in better_first]
        for count in ("without", "runs")
    )
    return Rates(failed[0], ended[0], failed[1], ended[1])


def _arms(claim: Claim, runs: Runs, rows: Rows) -> Iterator[Arm]:
    """The arms of a difference, and with `minus` those of a second one that is subtracted."""
    for sign, levels in ((1.0, claim.where), (-1.0, {**claim.where, **claim.minus})):
        here = rows & runs.where(levels, "where") if levels else rows
        yield _arm(claim.treatment, sign, runs, here, "treatment")
        if claim.target is None:
            yield _arm(claim.baseline, -sign, runs, here, "baseline")
        if not claim.minus:
            return


def _arm(arm: Any, weight: float, runs: Runs, rows: Rows, key: str) -> Arm:
    places = np.flatnonzero(runs.of_arm(arm, key) & rows)
    values = runs.values[places]
    finite = np.isfinite(values)
    # sums of floating-point numbers depend on their order, and a verdict must not
    return Arm(label(arm), weight, places, np.sort(values[finite]), int((~finite).sum()))


def label(arm: Any) -> str:
    """Return an arm as a person says it."""
    if arm is None:
        return ALL_RUNS
    if isinstance(arm, Mapping):
        return " ".join(f"{name}={label_of(value)}" for name, value in arm.items())
    return label_of(arm)


def _effect(claim: Claim, runs: Runs, arms: tuple[Arm, ...]) -> tuple[MeanDifference, int]:
    """The effect, positive where the treatment is better, and the number of incomplete pairs."""
    sign = 1.0 if runs.design.better == "higher" else -1.0
    variances = [_variance(arm, runs) for arm in arms]
    if claim.target is not None:
        method = TARGET if not (variances[0] and variances[0].source) else "z or t, stated noise"
        values = sign * (arms[0].values - claim.target)
        return mean_of(values, method, variances[0]), 0
    if runs.design.pair:
        differences, incomplete = _paired(runs, arms)
        return mean_of(sign * differences, PAIRED), incomplete
    weights = [sign * arm.weight for arm in arms]
    method = WELCH if len(arms) == 2 else CONTRAST
    if any(variance and variance.source for variance in variances):
        method = "t, noise not its own"
    return contrast([arm.values for arm in arms], weights, variances, method), 0


def _variance(arm: Arm, runs: Runs) -> Variance | None:
    """The variance of a run of an arm: stated, measured, or of few runs borrowed."""
    noise = runs.design.noise
    if noise.sd is not None:
        return Variance(noise.sd**2, noise.df, noise.source)
    if not noise.arms or len(arm.values) > FEW:
        return variance_of(arm.values)
    return pooled(lenders(runs))


def lenders(runs: Runs) -> list[Numbers]:
    """Return the values of the arms whose noise is borrowed."""
    found = [runs.values[runs.of_arm(arm, "noise.arms")] for arm in runs.design.noise.arms]
    return [values[np.isfinite(values)] for values in found]


def _paired(runs: Runs, arms: tuple[Arm, ...]) -> tuple[Numbers, int]:
    """Weighted sums of the arms by pair, and the number of pairs that are incomplete."""
    name = runs.design.pair
    places, labels = runs.table.column(name, "pair").labels()
    values = np.full((len(arms), len(labels)), np.nan)
    present = np.zeros(len(labels), dtype=bool)
    for row, arm in zip(values, arms, strict=True):
        pairs = places[arm.rows]
        counted = np.bincount(pairs[pairs >= 0], minlength=len(labels))
        if (counted > 1).any():
            twice = labels[int(np.argmax(counted > 1))]
            raise UserError(
                f"pair={name}: {name}={twice} occurs {counted.max()} times in {arm.label}; "
                "a pair has one run of each arm, so name a group or leave pair out"
            )
        row[pairs[pairs >= 0]] = runs.values[arm.rows][pairs >= 0]
        present |= counted > 0
    sums = np.array([arm.weight for arm in arms]) @ values
    complete = np.isfinite(sums)
    return np.sort(sums[complete]), int((present & ~complete).sum())


def _trend(claim: Claim, runs: Runs, rows: Rows, group: str) -> Measured:
    """The slope of the metric over a column: of all runs, or the mean over pairs."""
    here = rows & runs.where(claim.where, "where") if claim.where else rows
    if claim.treatment is not None:
        here = here & runs.of_arm(claim.treatment, "treatment")
    x = runs.table.numbers(claim.over, "over")
    sign = 1.0 if runs.design.better == "higher" else -1.0
    counted = here & np.isfinite(x) & np.isfinite(runs.values)
    without = int((here & ~np.isfinite(runs.values)).sum())
    arm = Arm(label(claim.treatment), 1.0, np.flatnonzero(here), runs.values[counted], without)
    places = np.flatnonzero(counted)
    places = places[np.lexsort((runs.values[places], x[places]))]
    x, y = _scaled(claim, x[places], runs.values[places])
    if not runs.design.pair:
        effect, incomplete = slope(x, sign * y, SLOPE), 0
    else:
        pairs, _ = runs.table.column(runs.design.pair, "pair").labels()
        effect, incomplete = _slopes(x, sign * y, pairs[places])
    if len(np.unique(x)) < LEAST_LEVELS:
        effect = MeanDifference(math.nan, (), SLOPE, (len(x),))
    return _judgeable(claim, group, (arm,), effect, incomplete)


def _scaled(claim: Claim, x: Numbers, y: Numbers) -> tuple[Numbers, Numbers]:
    if claim.scale != "linear" and len(x) and x.min() <= 0:
        raise UserError(f"scale={claim.scale}: {claim.over}={x.min():g} has no logarithm")
    if claim.scale == "log_log" and len(y) and y.min() <= 0:
        raise UserError(f"scale=log_log: the metric {y.min():g} has no logarithm")
    if claim.scale == "linear":
        return x, y
    return (np.log2(x), y) if claim.scale == "log" else (np.log(x), np.log(y))


def _slopes(x: Numbers, y: Numbers, pairs: np.ndarray) -> tuple[MeanDifference, int]:
    """The mean of the slopes of all pairs that have every level of x."""
    levels = len(np.unique(x))
    members = [np.flatnonzero(pairs == pair) for pair in np.unique(pairs[pairs >= 0])]
    whole = [rows for rows in members if len(np.unique(x[rows])) == len(rows) == levels]
    slopes = np.sort([slope(x[rows], y[rows], SLOPES).effect for rows in whole])
    return mean_of(slopes, SLOPES), len(members) - len(whole)
