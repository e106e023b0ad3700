"""Fewer runs of one arm go wrong: superiority of the difference of two shares, tested exactly."""

from typing import Any

import numpy as np
from jaxtyping import Bool

from ablate.errors import UserError
from ablate.evidence.folder import Evidence
from ablate.evidence.outcome import UNSTABLE, is_unstable
from ablate.evidence.types import Claim
from ablate.stats.rates import Rates, p_values
from ablate.verdict.contrast import contrast
from ablate.verdict.decision import LARGE, SUPPORTED
from ablate.verdict.interim import looks_of
from ablate.verdict.kind.base import POWER, Finding, check_arms
from ablate.verdict.kind.superiority import Superiority
from ablate.verdict.sides import ended_in, sides

PLANNED = 0.2  # the share that seeds are planned for where a claim names none


class Stability(Superiority):
    """The share of runs that diverge or collapse differs between two arms."""

    rule = "the rule of superiority, for the difference between the shares of runs that fail"
    most_seeds = 100  # the tables grow with the square

    def check(self, name: str, claim: Claim, factors: list[str]) -> None:
        """The metric counts runs."""
        check_arms(name, claim)
        if claim["metric"] not in UNSTABLE:
            raise UserError(
                f"{name}: metric={claim['metric']}; stability counts {' or '.join(UNSTABLE)}"
            )

    def find(self, claim: Claim, evidence: Evidence) -> Finding:
        """Count the runs that went wrong; all of them are what the claim is about."""
        return self.with_effect(claim, rates(claim, evidence), contrast(claim, evidence))

    def detectable(self, claim: Claim, found: Any, alpha: float) -> float | None:
        """Smallest share that is seen when no run of the other arm goes wrong."""
        if not found.known:
            return None
        from scipy import stats  # takes longer to import than all else here

        rejected = p_values(found.of_first, found.of_second, 0.0)[:, 0] <= alpha / 2
        events = np.arange(found.of_first + 1)
        for share in np.arange(1, 101) / 100:
            if stats.binom.pmf(events, found.of_first, share)[rejected].sum() >= POWER:
                return float(share)
        return None

    def named(self, claim: Claim) -> dict[str, float]:
        """As of superiority, where it is a share; without a margin, a fifth of the runs."""
        named = super().named(claim) or {SUPPORTED: PLANNED}
        return {side: share for side, share in named.items() if share <= 1}

    def planned(self, found: Any) -> bool:
        """Whether there are runs."""
        return bool(found.known)

    def power(
        self, side: str, found: Any, margin: float, effect: float, pairs: int, alpha: float
    ) -> float:
        """Exact, with as many runs of each arm, when no run of the other arm goes wrong."""
        from scipy import stats

        chance = stats.binom.pmf(np.arange(pairs + 1), pairs, effect)
        return float(chance[_shown(side, margin, pairs, alpha)[:, 0]].sum())


def rates(claim: Claim, evidence: Evidence) -> Rates:
    """Runs that went wrong in each arm, paired or not; the arm whose share counts as plus first."""
    counts = []
    arms = sides(claim, evidence)
    for side in sorted(arms, key=lambda side: -side.weight):
        wrong = sum(is_unstable(run, claim["metric"]) for run in side.ended)
        counts += [wrong, len(side.ended)]
    first, of_first, second, of_second = counts
    looks = looks_of(claim, evidence, ended_in(arms))
    return Rates(first, of_first, second, of_second, looks)


def _shown(side: str, margin: float, runs: int, alpha: float) -> Bool[np.ndarray, "a b"]:
    """Tables with this decision."""
    if side == LARGE:
        return np.asarray(p_values(runs, runs, margin) <= alpha / 2)
    below = alpha / 2 >= p_values(runs, runs, -margin).T
    return np.asarray((p_values(runs, runs, 0.0) <= alpha / 2) & ~below)
