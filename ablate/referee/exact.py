"""A claim that must hold in every run: each lies within a tolerance, of a number or of its pair.

The rule is that of ablate's own exact claims (ablate.verdict.exact). What differs: trained models
of a sweep are a sample of others, so that their value is estimated; of a foreign table the claim is
about the runs that are in it. A run without a finite value breaks it.
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
    """The deviations of all runs, or of all pairs."""

    method = "every case is checked"

    @property
    def effect(self) -> float:
        """The largest deviation; with a margin the smallest. NaN where there is none."""
        return math.nan if self.worst is None else self.worst

    @property
    def p(self) -> dict[str, float]:
        """What stands for p-values: nothing is left to chance."""
        return {side: float(self.verdict != side) for side in (SUPPORTED, REFUTED)}

    def interval(self, level: float) -> tuple[float, float]:
        """Return no interval: the claim is about these runs alone."""
        return -math.inf, math.inf


def cases(claim: Claim, runs: Runs, arms: tuple[Arm, ...]) -> tuple[Cases, int]:
    """Return the deviations of an exact claim, and the number of incomplete pairs."""
    if claim.target is not None:
        return _cases(claim, arms[0].scores - claim.target), 0
    pairs = pairs_of(runs, arms)
    whole = pairs.present.all(0)
    treatment, baseline = pairs.scores[:, whole]
    return _cases(claim, treatment - baseline), int((~whole).sum())


def _cases(claim: Claim, deviations: Numbers) -> Cases:
    found = [Case(place, float(value), None) for place, value in enumerate(np.sort(deviations))]
    return Cases(found, [], claim.tolerance, claim.margin)


def joined(claim: Claim, parts: Iterable[Cases]) -> Cases:
    """Return the cases of several datasets as those of one claim."""
    return Cases([case for part in parts for case in part.cases], [], claim.tolerance, claim.margin)
