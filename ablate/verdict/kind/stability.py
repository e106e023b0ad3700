"""Decide claims of stability: a smaller proportion of runs fails in one arm than in another.

A run fails if it diverges, collapses, or either, as the claim's metric says. The rule is that of
superiority, applied to the difference of two proportions by exact tests.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Bool

from ablate.evidence.folder import Evidence
from ablate.evidence.outcome import UNSTABLE, is_unstable
from ablate.evidence.types import Claim
from ablate.stats.rates import Rates, p_values
from ablate.stats.spending import ONCE
from ablate.verdict.contrast import contrast
from ablate.verdict.decision import LARGE, SUPPORTED
from ablate.verdict.independent import is_independent
from ablate.verdict.kind.base import POWER, Finding, arm_problems
from ablate.verdict.kind.superiority import Superiority
from ablate.verdict.sides import sides

PLANNED = 0.2  # proportion for which seeds are planned if a claim names none


class Stability(Superiority):
    """The kind of claim that a smaller proportion of runs diverges or collapses in one arm than in
    another.
    """

    rule = (
        "judged like superiority claims, by the difference between the proportions of runs that "
        "diverge or collapse"
    )
    most_seeds = 100  # the exact test enumerates a number of tables that grows with the square
    beyond_most_seeds = f"more than {most_seeds} seeds are needed"

    def problems(self, claim: Claim, factors: list[str]) -> Iterator[str]:
        """Yield a problem unless the metric of the claim counts diverged or collapsed runs, and its
        margin is a proportion.
        """
        yield from arm_problems(claim)
        if claim["metric"] not in UNSTABLE:
            yield f"metric={claim['metric']}; stability counts {' or '.join(UNSTABLE)}"
        if claim["margin"] >= 1:
            yield (
                f"margin={claim['margin']:g}, but two proportions of runs differ by at most 1, so "
                "that the claim could come out in one way only; allowed is a smaller margin"
            )

    def find(self, claim: Claim, evidence: Evidence) -> Finding:
        """Return the result of a claim: a test of the proportions of failed runs in both arms.

        The runs of a seed count even if only one of the arms has runs with this seed. The arm with
        positive weight in the difference comes first.
        """
        paired = None if is_independent(claim) else contrast(claim, evidence)
        arms = paired.sides if paired else sides(claim, evidence)
        counts = [
            (sum(is_unstable(run, claim["metric"]) for run in side.ended), len(side.ended))
            for side in sorted(arms, key=lambda side: -side.weight)
        ]
        rates = Rates(*counts[0], *counts[1], paired.looks if paired else ONCE)
        return replace(self.finding(claim, rates, paired), sides=arms)

    def detectable(
        self, claim: Claim, estimate: Any, alpha: float, pairs: int | None = None
    ) -> float | None:
        """Return the smallest true proportion of failed runs that the test detects with power 0.8.

        It is the proportion in one arm, if no run of the other arm fails. The result is None if an
        arm has no runs, or if no proportion is detected. The runs are those of the estimate.
        """
        if not estimate.known:
            return None
        from scipy import stats  # here, because it takes longer to import than the rest

        rejected = p_values(estimate.of_first, estimate.of_second, 0.0)[:, 0] <= alpha / 2
        events = np.arange(estimate.of_first + 1)
        for share in np.arange(1, 101) / 100:
            if stats.binom.pmf(events, estimate.of_first, share)[rejected].sum() >= POWER:
                return float(share)
        return None

    def named(self, claim: Claim) -> dict[str, float]:
        """Return the true difference of proportions to plan seeds for, by name of the decision.

        For a claim that names neither such a difference nor a margin, the difference is 0.2.
        """
        named = super().named(claim) or {SUPPORTED: PLANNED}
        return {side: share for side, share in named.items() if share <= 1}

    def planned(self, estimate: Any) -> bool:
        """Return whether both arms have runs, so that a number of seeds can be planned."""
        return bool(estimate.known)

    def power(
        self, side: str, estimate: Any, margin: float, effect: float, pairs: int, alpha: float
    ) -> float:
        """Return the exact power of the test for `pairs` runs of each arm.

        A proportion `effect` of the runs of one arm fails, and no run of the other arm.
        """
        from scipy import stats

        chance = stats.binom.pmf(np.arange(pairs + 1), pairs, effect)
        return float(chance[_leads_to(side, margin, pairs, alpha)[:, 0]].sum())


def _leads_to(side: str, margin: float, runs: int, alpha: float) -> Bool[np.ndarray, "a b"]:
    """Return which numbers of failed runs lead to the decision `side`, as a table of booleans.

    A row stands for a number of failed runs in the first arm, and a column for a number in the
    second.

    Args:
        side: name of the decision.
        margin: the margin of the claim.
        runs: number of runs of each arm.
        alpha: the level.
    """
    if side == LARGE:
        return np.asarray(p_values(runs, runs, margin) <= alpha / 2)
    below = alpha / 2 >= p_values(runs, runs, -margin).T
    return np.asarray((p_values(runs, runs, 0.0) <= alpha / 2) & ~below)
