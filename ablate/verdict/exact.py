"""Check exact claims: a value must be near 0 in every case, or far from 0 in every case.

The value is the result of a probe, or the difference between two runs. The claim is supported if no
value is further from 0 than the tolerance, and refuted if any value is. If lower is better,
negative values satisfy the claim. With a margin, the claim asserts a difference: every value must
be at least as far from 0 as the margin. If the claim has a negative control (a deliberate fault),
only cases count in which the control responded, because the other cases could not have failed. If
no case counts, the claim is undecided.

Training makes the value vary between seeds. For each seed, the worst distance from 0 is then taken;
the estimate is the mean over seeds. The claim is supported if the 1 - 2 alpha interval is within
the tolerance (with a margin: beyond the margin). The claim is refuted if the interval is on the
other side, else undecided. Each decision is a one-sided test at alpha.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ablate.config.study import Claim, Levels
from ablate.evidence.folder import Evidence, differing_sentences
from ablate.evidence.outcome import CHANGED, Run, needs_no_training
from ablate.record.results import run_key
from ablate.stats import Tests, at_most
from ablate.stats.corrections import ONCE, repeated_p_value
from ablate.stats.estimate import Estimate, estimate
from ablate.verdict.contrast import information_fractions
from ablate.verdict.sides import Side, has, is_alone, pairs
from ablate.verdict.types import INCONCLUSIVE, REFUTED, SUPPORTED, Band, Method, Noise, thresholds

MOVED = 1e-3  # smallest response of the negative control
Runs = tuple[Run] | tuple[Run, Run]  # of a case


class Case(NamedTuple):
    """A row in the table of checks: a seed, and the value that the claim restricts, such as a
    deviation that must be 0. The value is None if it was not measured.
    """

    seed: int
    value: float | None
    control: float | None  # response of the negative control; None if the claim has none
    scale: float  # largest number from which the value was computed (ablate.stats)


@dataclass(frozen=True)
class Exact:
    """The table of checks of an exact claim, with the rule that decides the claim.

    A case is a run, or a pair of runs with the same seed. The rule is a tolerance, within which
    every value must be, or a margin, by which every value must be away from 0.
    """

    cases: list[Case]
    tolerance: float
    margin: float  # 0: none
    one_sided: bool  # whether negative values satisfy the claim
    draws: int | None  # random draws behind each value; None if not recorded
    # an arm outside the claim that violates the rule, and the distance of its value from 0
    elsewhere: tuple[Levels, float] | None = None

    # the attributes of an estimate, although nothing is estimated
    method: ClassVar[Method] = "every case"
    noise_sources: ClassVar[list[Noise]] = []
    looks = ONCE

    @cached_property
    def counted(self) -> list[Case]:
        """The cases with a value that could have violated the claim, as the response of the
        negative control shows; without a control, all cases with a value.
        """
        moved = [case for case in self.cases if case.control is None or case.control > MOVED]
        return [case for case in moved if case.value is not None]

    @property
    def pairs(self) -> int:
        """The number of cases that decide the claim; other kinds of claims count pairs of runs."""
        return len(self.counted)

    @property
    def effect(self) -> float:
        """The distance of the worst case from 0: the smallest distance if the claim has a margin,
        the largest if it has a tolerance; NaN without cases.

        NaN violates every claim, so the result is NaN if the value of a case is NaN.
        """
        distances = [self.distance(case) for case in self.counted] or [math.nan]
        return float(np.min(distances) if self.margin else np.max(distances))

    def interval(self, level: float) -> tuple[float, float]:
        """Return an infinite interval, because nothing is estimated."""
        return -math.inf, math.inf

    def p_values(self, bound: float) -> Tests:
        """Return {}, because nothing is tested."""
        return {}

    def decision_thresholds(self, alpha: float) -> list[Band]:
        """Return the tolerances or margins at which the decision changes, each with the decision
        from there on; [] if no value was measured.
        """
        if not self.counted:
            return []
        if not math.isfinite(self.effect):  # violates the claim at every tolerance and margin
            return thresholds((0.0, REFUTED))
        near, far = (SUPPORTED, REFUTED) if self.margin else (REFUTED, SUPPORTED)
        return thresholds((0.0, near), (self.effect, far))

    @property
    def n_violations(self) -> int:
        """The number of cases that violate the claim; a value that is not finite violates it."""
        return sum(not self.holds(case) for case in self.counted)

    def signed(self, case: Case) -> float:
        """Return the value of a case: with its sign if negative values satisfy the claim, else its
        absolute value.
        """
        value = case.value or 0.0
        return value if self.one_sided else abs(value)

    def distance(self, case: Case) -> float:
        """Return how far the value of a case is from 0; 0 for negative values that satisfy the
        claim.
        """
        return max(self.signed(case), 0.0)  # NaN stays, because it comes first

    def holds(self, case: Case) -> bool:
        """Return whether the value of a case satisfies the claim."""
        distance = self.distance(case)
        if self.margin:
            return at_most(self.margin, distance, case.scale) and distance < math.inf
        return at_most(distance, self.tolerance, case.scale)

    @property
    def control(self) -> float | None:
        """The smallest response of the negative control in a counted case; None without one."""
        moved = (case.control for case in self.counted if case.control is not None)
        return min(moved, default=None)

    @property
    def verdict(self) -> str:
        """The verdict on the claim: supported, refuted, or inconclusive if `counted` is empty."""
        if not self.counted:
            return INCONCLUSIVE
        return REFUTED if self.n_violations else SUPPORTED


def examine(claim: Claim, arms: Sequence[Side], evidence: Evidence) -> Exact:
    """Return the table of checks of an exact claim.

    A value is of a single run, or of a pair of runs with the same seed if the claim names two arms.

    Args:
        claim: the claim.
        arms: its two arms, or a single side with all of its runs.
        evidence: the evidence of the study.
    """
    alone = [(run,) for run in evidence.runs if has(run, claim["where"] | claim["treatment"])]
    measured: Sequence[Runs] = alone if is_alone(claim) else [*pairs(*arms)]
    runs = [run for arm in arms for run in arm.all_runs]
    draws = [run["draws"] for run in runs if run.get("draws") is not None]
    recorded = claim["metric"].startswith("probe/") and len(draws) == len(runs)
    table = Exact(
        cases=[
            _case(claim, of_case, evidence)
            for of_case in measured
            if all(run["status"] != "failed" for run in of_case)
        ],
        tolerance=claim["tolerance"],
        margin=claim["margin"],
        one_sided=claim["better"] == "lower" and not claim["margin"],
        draws=min(draws, default=None) if recorded else None,
    )
    if "design" in claim:  # the other arms of a table are no faults
        return table
    return replace(table, elsewhere=_fault(table, runs, claim, evidence))


def _fault(
    table: Exact, runs: list[Run], claim: Claim, evidence: Evidence
) -> tuple[Levels, float] | None:
    """Return an arm outside the claim that violates its rule, with the arm's distance from 0; None
    if there is no such arm.

    Such an arm shows that the check can fail. It is named by the levels that no run of the claim
    has. For a claim that names two arms, the value is a difference of the same two levels, with
    other levels of the other factors.
    """
    inside = {run["cell"] for run in runs}
    by_key = {run_key(run["levels"], run["seed"]): run for run in evidence.runs}
    for run in evidence.runs:
        partner = by_key.get(run_key(run["levels"] | claim["baseline"], run["seed"]))
        if run["cell"] in inside or partner is None or not has(run, claim["treatment"]):
            continue
        case = _case(claim, (run, partner) if claim["treatment"] else (run,), evidence)
        if case.value is not None and math.isfinite(case.value) and not table.holds(case):
            of_case = run["levels"].items()
            new = {k: x for k, x in of_case if all(r["levels"].get(k, ...) != x for r in runs)}
            return new or run["levels"], table.distance(case)
    return None


def _measured(run: Run, metric: str) -> float | None:
    """Return the metric of a run; None if the run lacks it, NaN if it was not finite."""
    if metric not in run["metrics"]:
        return None
    score = run["metrics"][metric]
    return math.nan if score is None else float(score)


def _case(claim: Any, runs: Runs, evidence: Evidence) -> Case:
    """Return a run, or a pair of runs, as a case of an exact claim.

    The value is the metric of the run, or its difference from the other run or from the number that
    a claim about a table names. The control is the largest response of the negative control among
    the runs; NaN counts as no response.
    """
    split, _, name = claim["metric"].rpartition("/")
    target = float(claim.get("target") or 0.0)
    scores = [_measured(run, claim["metric"]) for run in runs]
    measured = [score for score in scores if score is not None]
    complete = len(measured) == len(scores)
    value = measured[0] - sum(measured[1:]) - target if complete else None
    if name == CHANGED and len(runs) == 2:
        value = _changed(runs, split, evidence)
    control = None
    if claim["control"]:
        responses = [abs(_measured(run, claim["control"]) or 0.0) for run in runs]
        control = max((x for x in responses if not math.isnan(x)), default=0.0)
    return Case(runs[0]["seed"], value, control, max(map(abs, (*measured, target))))


def _changed(runs: tuple[Run, Run], split: str, evidence: Evidence) -> float | None:
    """Return the fraction of sentences whose translations differ; None if it is not recorded."""
    try:
        return float(differing_sentences(runs, split, evidence).mean())
    except KeyError:
        return None


@dataclass(frozen=True)
class TrainedValue(Estimate):
    """The mean over seeds of the distance from 0 of a value that varies between trained models.

    With `away`, the claim is that the mean is at least the bound (a margin). Otherwise the claim is
    that the mean is at most the bound (a tolerance).
    """

    away: bool = False
    holding: int = 0  # number of seeds whose value satisfies the claim

    def p_values(self, bound: float) -> Tests:
        """Return, for the statuses supported and refuted, the one-sided p-value of the test."""
        near, far = self.p_at_least(bound), self.p_at_most(bound)
        supported, refuted = (far, near) if self.away else (near, far)
        if self.error == 0 and self.holding == self.pairs:  # all values may be equal to the bound
            supported = repeated_p_value(0.5**self.pairs, self.looks)
        return {SUPPORTED: supported, REFUTED: refuted}

    def decision_thresholds(self, alpha: float) -> list[Band]:
        """Return the bounds (tolerances or margins of the claim) at which the decision changes.

        Each entry has the decision that holds from its bound up to the next bound.
        """
        low, high = self.interval(1 - 2 * alpha)
        first, last = (SUPPORTED, REFUTED) if self.away else (REFUTED, SUPPORTED)
        return thresholds((0.0, first), (low, INCONCLUSIVE), (high, last))


def trained_value(
    claim: Claim, arms: Sequence[Side], table: Exact, evidence: Evidence
) -> TrainedValue | None:
    """Return the mean over seeds of the values that an exact claim restricts: of each seed the case
    with the worst distance from 0, ignoring values that are not finite.

    The result is None if training does not affect the values, or if no run was trained. Arms that
    agree in every run are no exception, because other seeds may differ.
    """
    runs = (run for arm in arms for run in arm.all_runs)
    trained = any((run["metrics"].get("steps") or 0) > 0 for run in runs)
    if needs_no_training(claim["metric"]) or not trained:
        return None
    pick = min if table.margin else max
    worst: dict[int, Case] = {}
    for case in table.counted:
        if math.isfinite(case.value or 0.0):
            worst[case.seed] = pick(worst.get(case.seed, case), case, key=table.signed)
    cases = [*worst.values()]
    values = np.array([table.signed(case) for case in cases], dtype=np.float64)
    mean_distance = estimate(values, scale=max((case.scale for case in cases), default=0.0))
    looks, holding = information_fractions(claim, evidence, {*worst}), sum(map(table.holds, cases))
    rule = {"looks": looks, "away": bool(claim["margin"]), "holding": holding}
    return TrainedValue(**vars(mean_distance) | rule)
