"""From the runs of a table to what they say of each claim."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ablate.errors import UserError
from ablate.evidence.foreign.table import Rows, label_of
from ablate.referee.arms import Arm, arms_of
from ablate.referee.exact import Cases, cases, joined
from ablate.referee.means import difference
from ablate.referee.question import LEAVE_OUT, Claim
from ablate.referee.runs import Runs
from ablate.referee.trend import trend
from ablate.stats.means import MeanDifference, mean_of
from ablate.stats.rates import Rates
from ablate.verdict.kind import KINDS
from ablate.verdict.kind.base import halved

OVER_ALL = "over all"  # the group of a verdict on several datasets
OF_MEANS = ("superiority", "equivalence", "non_inferiority")  # kinds that failures may decide
Effect = MeanDifference | Rates | Cases


@dataclass(frozen=True)
class Measured:
    """What the runs say of a claim, before its verdict.

    Args:
        group: the dataset that the claim is about, or `OVER_ALL`; "" where there is one.
        effect: positive where the treatment is better.
        p: one-sided p-values by decision, not adjusted.
        failures: the rates of failed runs, where they decide.
        shared: whether the mean has half of alpha, since the rates could have decided.
        problem: why there is nothing to judge.
        incomplete: pairs that lack an arm or a value.
        spread: standard deviation of the true effects between datasets, of a verdict over all.
        groups: number of datasets, of a verdict over all.
        p_textbook, p_corrected: the p-values of the mean without and with a correction for
            skewness; empty where its skewness is not estimated.
    """

    claim: Claim
    group: str
    arms: tuple[Arm, ...]
    effect: Effect
    p: dict[str, float]
    failures: Rates | None = None
    shared: bool = False
    problem: str = ""
    incomplete: int = 0
    spread: float | None = None
    groups: int = 0
    p_textbook: dict[str, float] = field(default_factory=dict)
    p_corrected: dict[str, float] = field(default_factory=dict)


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
    """Return what the runs say of a claim on each dataset, and over all of them.

    Raises:
        UserError: an arm has no runs, or a pair occurs twice in it.
    """
    design = runs.design
    if not design.group:
        return [_measure(claim, runs, np.ones(runs.table.rows, dtype=bool), "")]
    places, labels = runs.table.column(design.group, "group").labels()
    found = [_measure(claim, runs, places == k, label) for k, label in enumerate(labels)]
    return [*found, _over_all(claim, found)] if len(found) > 1 else found


def _measure(claim: Claim, runs: Runs, rows: Rows, group: str) -> Measured:
    arms = tuple(arms_of(claim, runs, rows))
    effect, incomplete = _effect(claim, runs, arms)
    p_textbook: dict[str, float] = {}
    p_corrected: dict[str, float] = {}
    if isinstance(effect, MeanDifference) and effect.skewness is not None:
        plain = replace(effect, skewness=None)
        p_textbook, p_corrected = _tests(claim, plain), _tests(claim, effect)
        effect = effect if runs.design.corrects else plain
    found = Measured(
        claim,
        group,
        arms,
        effect,
        _tests(claim, effect),
        incomplete=incomplete,
        problem=_problem(arms, effect),
        p_textbook=p_textbook,
        p_corrected=p_corrected,
    )
    counted = claim.kind in OF_MEANS and runs.design.missing != LEAVE_OUT
    return _with_failures(found) if counted and any(arm.without for arm in arms) else found


def _effect(claim: Claim, runs: Runs, arms: tuple[Arm, ...]) -> tuple[Effect, int]:
    """The effect, positive where the treatment is better, and the number of incomplete pairs."""
    if claim.kind == "stability":
        return _failure_rates(arms), 0
    if claim.kind == "exact":
        return cases(claim, runs, arms)
    if claim.kind == "trend":
        return trend(claim, runs, arms)
    return difference(claim, runs, arms)


def _tests(claim: Claim, effect: Effect) -> dict[str, float]:
    return effect.p if isinstance(effect, Cases) else KINDS[claim.kind].tests(effect, claim.margin)


def _problem(arms: tuple[Arm, ...], effect: Effect) -> str:
    if isinstance(effect, Rates):
        return "" if effect.known else "an arm has no runs here"
    if math.isnan(effect.effect):
        return "an arm has no run with a value here"
    if isinstance(effect, MeanDifference) and not effect.parts:
        single = any(len(arm.values) == 1 for arm in arms)
        return "a single run shows no run-to-run variation" if single else "too few runs"
    return ""


def _with_failures(found: Measured) -> Measured:
    """Decide by the rates of failure where they can, else by the mean, as ablate's sweeps do."""
    kind, alpha, rates = KINDS[found.claim.kind], found.claim.alpha, _failure_rates(found.arms)
    if not rates.known or not kind.could_decide(rates, alpha):
        return found
    if tests := kind.by_failures(rates, alpha):
        return replace(found, p=tests, failures=rates, problem="")
    return replace(found, p=halved(found.p), shared=True)


def _failure_rates(arms: tuple[Arm, ...]) -> Rates:
    """Failures of the arms that the treatment is compared with, and of those that count for it."""
    sides = [[arm for arm in arms if (arm.weight > 0) == plus] for plus in (False, True)]
    (first, of_first), (second, of_second) = (
        (sum(arm.without for arm in side), sum(arm.runs for arm in side)) for side in sides
    )
    return Rates(first, of_first, second, of_second)


def _over_all(claim: Claim, found: Sequence[Measured]) -> Measured:
    """Take each dataset as one observation: the verdict is about other datasets like these."""
    effects = [one.effect for one in found if not math.isnan(one.effect.effect)]
    effect: Effect
    spread = None
    if claim.kind == "stability":
        counts = [
            (e.first, e.of_first, e.second, e.of_second) for e in effects if isinstance(e, Rates)
        ]
        first, of_first, second, of_second = map(sum, zip(*counts, (0, 0, 0, 0), strict=True))
        effect = Rates(first, of_first, second, of_second)
    elif claim.kind == "exact":
        effect = joined(claim, [e for e in effects if isinstance(e, Cases)])
    else:
        values = np.array([effect.effect for effect in effects])
        effect = mean_of(values, "t over datasets")
        errors = np.array([e.error for e in effects if isinstance(e, MeanDifference)])
        if len(values) > 1 and np.isfinite(errors).all():
            spread = math.sqrt(max(0.0, float(values.var(ddof=1) - np.square(errors).mean())))
    return Measured(
        claim,
        OVER_ALL,
        (),
        effect,
        _tests(claim, effect),
        spread=spread,
        groups=len(effects),
        problem=_problem((), effect),
    )
