"""Claims that must hold in every case: a probe's value, or the difference of two runs.

Rule: supported when no value is further from 0 than the tolerance, refuted when one is; where lower
is better, a value below 0 is near enough. With a margin it is the other way round: no value may be
closer to 0 than that, for a claim that something is there. A case counts only where the negative
control moved, else it could not have failed; with no case that counts, inconclusive.
"""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from ablate.config.labels import arm_label
from ablate.evidence.folder import Evidence
from ablate.evidence.types import Claim, Run
from ablate.verdict.contrast import CHANGED, differ
from ablate.verdict.decision import INCONCLUSIVE, REFUTED, SUPPORTED
from ablate.verdict.sides import has, sides

MOVED = 1e-3  # what the control must exceed
Measured = Callable[[Run], float | None]
DRAWS = re.compile(r"(\d+) draws\b")  # in what a study holds fixed


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
    draws: int | None = None  # random draws behind each value; None where none are recorded
    elsewhere: tuple[str, float] | None = None  # an arm outside the claim that breaks its rule

    @property
    def counted(self) -> list[Case]:
        """Cases that were measured and whose control moved."""
        return [case for case in self.cases if case.value is not None and case.counts]

    @property
    def seeds(self) -> list[int]:
        """Seeds of all cases, ascending."""
        return sorted({case.seed for case in self.cases})

    @property
    def values(self) -> list[float | None]:
        """Values of the cases that count."""
        return [case.value for case in self.counted]

    @property
    def broken(self) -> int:
        """Cases that violate the claim; a value that is not finite does."""
        return sum(not self.holds(self.distance(case)) for case in self.counted)

    def signed(self, case: Case) -> float:
        """Return the distance from 0; where only values above 0 break the claim, the value."""
        value = case.value or 0.0
        return value if self.one_sided else abs(value)

    def distance(self, case: Case) -> float:
        """Return how far a value is from 0, on the side that can break the claim."""
        distance = self.signed(case)
        return distance if math.isnan(distance) else max(distance, 0.0)

    def holds(self, distance: float) -> bool:
        """Return whether a distance from 0 satisfies the claim."""
        if self.margin:
            return self.margin <= distance < math.inf
        return distance <= self.tolerance

    @property
    def worst(self) -> float | None:
        """Largest deviation from 0; with a margin the smallest."""
        pick = min if self.margin else max
        return pick(map(self.distance, self.counted), default=None)

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
        return _exact(claim, cases, runs, evidence, lambda run: _measured(run, claim["metric"]))
    first, second = sides(claim, evidence)
    cases = [
        Case(seed, _difference(claim, pair, evidence), _moved(claim, pair))
        for seed in sorted(first.runs.keys() & second.runs.keys())
        for pair in zip(first.runs[seed], second.runs[seed], strict=False)
        if all(run["status"] != "failed" for run in pair)
    ]
    runs = [*first.every, *second.every]

    def from_baseline(run: Run) -> float | None:
        baseline = second.runs.get(run["seed"])
        return _difference(claim, (run, baseline[0]), evidence) if baseline else None

    return _exact(claim, cases, runs, evidence, from_baseline)


def _exact(
    claim: Claim, cases: list[Case], runs: list[Run], evidence: Evidence, measure: Measured
) -> Exact:
    below = claim["better"] == "lower" and not claim["margin"]
    draws = _draws(runs, evidence) if claim["metric"].startswith("probe/") else None
    found = Exact(cases, runs, claim["tolerance"], claim["margin"], below, draws)
    return replace(found, elsewhere=_fault(found, evidence, measure))


def _draws(runs: list[Run], evidence: Evidence) -> int | None:
    """Return how many random draws each run made: as recorded, else as the study states it."""
    recorded = {run.get("draws") for run in runs}
    if recorded and None not in recorded:
        return min(number for number in recorded if number is not None)
    stated = [match for fixed in evidence.study["fixed"] if (match := DRAWS.search(str(fixed)))]
    return int(stated[0][1]) if stated else None


def _fault(cases: Exact, evidence: Evidence, measure: Measured) -> tuple[str, float] | None:
    """Return another arm of the study that breaks the rule, with its distance from 0."""
    inside = {run["cell"] for run in cases.runs}
    for run in evidence.runs:
        value = None if run["cell"] in inside else measure(run)
        if value is None or not math.isfinite(value):
            continue
        distance = cases.distance(Case(run["seed"], value, None))
        if not cases.holds(distance):
            return arm_label(run["levels"]), distance
    return None


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
