"""Claims that must hold in every case: a probe's value, or the difference of two runs.

Rule: supported when no value is further from 0 than the tolerance, refuted when one is; where lower
is better, a value below 0 is near enough. With a margin it is the other way round: no value may be
closer to 0 than that, for a claim that something is there. A case counts only where the negative
control moved, else it could not have failed; with no case that counts, inconclusive.
"""

import math
from dataclasses import dataclass

from ablate.evidence.folder import Evidence
from ablate.evidence.types import Claim, Run
from ablate.verdict.contrast import CHANGED, differ
from ablate.verdict.decision import INCONCLUSIVE, REFUTED, SUPPORTED
from ablate.verdict.sides import has, sides

MOVED = 1e-3  # what the control must exceed


@dataclass(frozen=True)
class Case:
    """One value that must be 0, or must not; `value` is None where it was not measured."""

    seed: int
    value: float | None
    control: float | None  # how far the control moved; None of a claim without one

    @property
    def counts(self) -> bool:
        """Whether it could have failed."""
        return self.control is None or self.control > MOVED


@dataclass(frozen=True)
class Exact:
    """The cases of a claim and its verdict."""

    cases: list[Case]
    runs: list[Run]  # every run at its levels, failed ones too
    tolerance: float
    margin: float  # 0: none
    one_sided: bool = False  # a value below 0 is at no distance

    @property
    def counted(self) -> list[Case]:
        """Cases that were measured and whose control moved."""
        return [case for case in self.cases if case.value is not None and case.counts]

    @property
    def broken(self) -> int:
        """Cases that violate the claim; a value that is not finite does."""
        return sum(not self._holds(self._distance(case)) for case in self.counted)

    def _distance(self, case: Case) -> float:
        """How far a value is from 0, on the side that can break the claim."""
        value = case.value or 0.0
        return max(value, 0.0) if self.one_sided and not math.isnan(value) else abs(value)

    def _holds(self, distance: float) -> bool:
        if self.margin:
            return self.margin <= distance < math.inf
        return distance <= self.tolerance

    @property
    def worst(self) -> float | None:
        """Largest deviation from 0; with a margin the smallest."""
        pick = min if self.margin else max
        return pick(map(self._distance, self.counted), default=None)

    @property
    def control(self) -> float | None:
        """How far the control moved at least where a case counts; None of a claim without one."""
        moved = (case.control for case in self.counted if case.control is not None)
        return min(moved, default=None)

    @property
    def verdict(self) -> str:
        """The rule."""
        if not self.counted:
            return INCONCLUSIVE
        return REFUTED if self.broken else SUPPORTED


def examine(claim: Claim, evidence: Evidence) -> Exact:
    """Return the cases of an exact claim."""
    if not claim["treatment"]:
        runs = [run for run in evidence.runs if has(run, claim["where"])]
        ended = [run for run in runs if run["status"] != "failed"]
        cases = [
            Case(run["seed"], _measured(run, claim["metric"]), _moved(claim, [run]))
            for run in ended
        ]
        return _exact(claim, cases, runs)
    first, second = sides(claim, evidence)
    cases = [
        Case(seed, _difference(claim, pair, evidence), _moved(claim, pair))
        for seed in sorted(first.runs.keys() & second.runs.keys())
        for pair in zip(first.runs[seed], second.runs[seed], strict=False)
        if all(run["status"] != "failed" for run in pair)
    ]
    runs = [run for side in (first, second) for found in side.runs.values() for run in found]
    return _exact(claim, cases, runs)


def _exact(claim: Claim, cases: list[Case], runs: list[Run]) -> Exact:
    below = claim["better"] == "lower" and not claim["margin"]
    return Exact(cases, runs, claim["tolerance"], claim["margin"], one_sided=below)


def _measured(run: Run, metric: str) -> float | None:
    """A run's value; one that was not finite is null in its record."""
    if metric not in run["metrics"]:
        return None
    found = run["metrics"][metric]
    return math.nan if found is None else float(found)


def _difference(claim: Claim, pair: tuple[Run, Run], evidence: Evidence) -> float | None:
    split, _, name = claim["metric"].rpartition("/")
    if name == CHANGED:
        try:
            return float(differ(pair, split, evidence).mean())
        except KeyError:
            return None
    values = [_measured(run, claim["metric"]) for run in pair]
    return None if values[0] is None or values[1] is None else values[0] - values[1]


def _moved(claim: Claim, runs: tuple[Run, ...] | list[Run]) -> float | None:
    """How far the control moved in the run where it moved most; a NaN is no movement."""
    if not claim["control"]:
        return None
    found = (abs(_measured(run, claim["control"]) or 0.0) for run in runs)
    return max((distance for distance in found if not math.isnan(distance)), default=0.0)
