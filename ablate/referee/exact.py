"""Check a claim that must hold in every run of a table.

The claim is that the value of each run is within a tolerance of a number, or of the value of the
paired run. With a margin, it is that the value is at least this far away. The rule is that of exact
claims about sweeps (ablate.verdict.exact), with one difference. The models of a sweep are a sample,
so a property of all models is estimated. A claim about a table of runs that this package did not
make is only about the runs in the table. A run without a finite value violates the claim.
"""

import math
from collections.abc import Iterable

import numpy as np

from ablate.evidence.foreign.table import Numbers
from ablate.referee.arms import Arm, pairs_of
from ablate.referee.question import Claim
from ablate.referee.runs import Runs
from ablate.verdict.decision import REFUTED, SUPPORTED
from ablate.verdict.exact import Case, Exact


class Cases(Exact):
    """The deviations of runs from a number that a claim names, or from their paired runs."""

    method = "every case is checked"

    @property
    def effect(self) -> float:
        """The deviation that decides the claim; NaN if there are no runs.

        A deviation is the distance of a run's value from the number that the claim names, or from
        the value of the paired run. A claim that deviations are at most a tolerance is decided by
        the largest deviation. A claim that they are at least a margin is decided by the smallest
        deviation.
        """
        return math.nan if self.worst is None else self.worst

    @property
    def p(self) -> dict[str, float]:
        """Values in place of p-values: 0 for the decision that was reached and 1 for the other.

        There is no test with a p-value, because every run is checked and nothing is estimated.
        """
        return {side: float(self.verdict != side) for side in (SUPPORTED, REFUTED)}

    def interval(self, level: float) -> tuple[float, float]:
        """Return an infinite interval, because nothing is estimated.

        The claim is only about the runs in the table.
        """
        return -math.inf, math.inf


def cases(claim: Claim, runs: Runs, arms: tuple[Arm, ...]) -> tuple[Cases, int]:
    """Return the deviations of the treatment's runs, and the number of incomplete pairs.

    The deviation of a run is its value minus the number that the claim names, or minus the value of
    the baseline's run in the same pair. Incomplete pairs are left out.
    """
    if claim.target is not None:
        return _cases(claim, arms[0].scores - claim.target), 0
    pairs = pairs_of(runs, arms)
    whole = pairs.present.all(0)
    treatment, baseline = pairs.scores[:, whole]
    return _cases(claim, treatment - baseline), int((~whole).sum())


def _cases(claim: Claim, deviations: Numbers) -> Cases:
    all_cases = [Case(place, float(value), None) for place, value in enumerate(np.sort(deviations))]
    return Cases(all_cases, [], claim.tolerance, claim.margin)


def joined(claim: Claim, parts: Iterable[Cases]) -> Cases:
    """Return the deviations of the runs on all datasets as one object.

    Args:
        claim: a claim that must hold in every run.
        parts: the deviations on each dataset.
    """
    return Cases([case for part in parts for case in part.cases], [], claim.tolerance, claim.margin)
