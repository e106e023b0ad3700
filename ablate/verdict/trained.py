"""Judge an exact claim about trained models, for which the restricted value varies between seeds.

For each seed, the worst distance from 0 is taken; the estimate is the mean over seeds. The claim is
supported if the 1 - 2 alpha interval is within the tolerance (with a margin: beyond the margin).
The claim is refuted if the interval is on the other side, else undecided. Each decision is a
one-sided test at alpha. If two arms agree in every run, they compute the same numbers. Then nothing
is random, and every case is checked as in other exact claims.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ablate.evidence.folder import Evidence
from ablate.evidence.types import Claim, Run
from ablate.stats.estimate import Estimate, estimate
from ablate.stats.holm import Tests
from ablate.verdict.decision import (
    INCONCLUSIVE,
    REFUTED,
    SUPPORTED,
    Decision,
    MarginThreshold,
    needs_no_training,
)
from ablate.verdict.exact import Exact
from ablate.verdict.interim import looks_of


@dataclass(frozen=True)
class TrainedValue(Estimate):
    """The mean over seeds of the distance from 0 of a value that varies between trained models.

    With `away`, the claim is that the mean is at least the bound (a margin). Otherwise the claim is
    that the mean is at most the bound (a tolerance).
    """

    away: bool = False
    holding: int = 0  # number of seeds whose value satisfies the claim

    def tests(self, bound: float) -> Tests:
        """Return the one-sided p-values of the decisions supported and refuted."""
        near, far = self.p_at_least(bound), self.p_at_most(bound)
        return {SUPPORTED: far, REFUTED: near} if self.away else {SUPPORTED: near, REFUTED: far}

    def turns(self, alpha: float) -> list[MarginThreshold]:
        """Return the bounds (tolerances or margins of the claim) at which the decision changes.

        Each entry has the decision that holds from its bound up to the next bound.
        """
        low, high = self.interval(1 - 2 * alpha)
        first, last = (SUPPORTED, REFUTED) if self.away else (REFUTED, SUPPORTED)
        return [
            MarginThreshold(0.0, Decision(first)),
            MarginThreshold(low, Decision(INCONCLUSIVE)),
            MarginThreshold(high, Decision(last)),
        ]


def took_steps(runs: Iterable[Run]) -> bool:
    """Return whether any run made an optimiser step."""
    return any((run["metrics"].get("steps") or 0) > 0 for run in runs)


def trained_value(claim: Claim, cases: Exact, evidence: Evidence) -> TrainedValue | None:
    """Return the mean over seeds of the values that an exact claim restricts.

    The result is None if training does not affect the values, or if no run was trained.
    """
    constructed = needs_no_training(claim["metric"])
    identical = bool(claim["treatment"]) and not any(case.value for case in cases.counted)
    if constructed or identical or not took_steps(cases.runs):
        return None
    worst = _worst_by_seed(cases)
    mean_distance = estimate(np.array([*worst.values()], dtype=np.float64))
    return TrainedValue(
        mean_distance.effect,
        mean_distance.pairs,
        0,
        mean_distance.seed_variance,
        0.0,
        looks=looks_of(claim, evidence, {*worst}),
        away=bool(claim["margin"]),
        holding=sum(cases.holds(distance) for distance in worst.values()),
    )


def _worst_by_seed(cases: Exact) -> dict[int, float]:
    """Return the worst distance from 0 for every seed, ignoring values that are not finite.

    If negative values satisfy the claim, the result has the signed values instead of distances.
    """
    pick = min if cases.margin else max
    by_seed: dict[int, list[float]] = {}
    for case in cases.counted:
        if case.value is not None and math.isfinite(case.value):
            by_seed.setdefault(case.seed, []).append(cases.signed(case))
    return {seed: pick(values) for seed, values in by_seed.items()}
