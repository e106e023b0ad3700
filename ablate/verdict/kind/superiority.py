"""One arm is better: above 0, and then by the margin, tested in this order.

With the two-sided 1 - alpha interval [l, u] and margin m: l >= m is supported, *at least the
margin*; 0 < l < m <= u supported, *there*; 0 < l and u < m refuted: *real, but smaller than the
margin*; l <= 0 and u < m refuted (with m = 0: u < 0); anything else is inconclusive.
The second test needs no share of alpha, since it can only hold where the first one does
(fixed sequence: Maurer, Hothorn & Lehmacher 1995).
"""

from typing import Any

import numpy as np
from scipy import stats

from ablate.evidence.types import Claim
from ablate.stats.holm import Tests
from ablate.stats.power import halves
from ablate.verdict.decision import (
    AT_LEAST,
    INCONCLUSIVE,
    REFUTED,
    SMALLER,
    SUPPORTED,
    THERE,
    Decision,
    Turn,
    side,
)
from ablate.verdict.kind.base import Kind, distinct


class Superiority(Kind):
    """The mean paired difference is above 0."""

    rule = (
        "supported when the interval [l, u] lies above 0 and reaches the margin m (at least the "
        "margin where l >= m, else there); refuted when u < m (real, but smaller than the margin "
        "where l > 0); else inconclusive"
    )

    def tests(self, found: Any, margin: float) -> Tests:
        """p-values against "at most 0", "at least the margin" and "at most the margin"."""
        p = {SUPPORTED: found.p_at_most(0.0), REFUTED: found.p_at_least(margin)}
        return p | ({AT_LEAST: found.p_at_most(margin)} if margin else {})

    def decide(self, p: Tests, alpha: float) -> Decision:
        """See the head of this module."""
        status = side(p, alpha)
        if status == REFUTED:
            return Decision(status, SMALLER if p[SUPPORTED] <= alpha else "")
        if status == INCONCLUSIVE:
            return Decision(status)
        return Decision(status, AT_LEAST if p.get(AT_LEAST, 1.0) <= alpha else THERE)

    def turns(self, found: Any, alpha: float) -> list[Turn]:
        """At the ends of the interval."""
        low, high = found.interval(1 - alpha)
        if low <= 0:
            refuted = Turn(high, Decision(REFUTED))
            return distinct([Turn(0.0, Decision(INCONCLUSIVE)), refuted])
        return distinct(
            [
                Turn(0.0, Decision(SUPPORTED, AT_LEAST)),
                Turn(low, Decision(SUPPORTED, THERE)),
                Turn(high, Decision(REFUTED, SMALLER)),
            ]
        )

    def named(self, claim: Claim) -> dict[str, float]:
        """The margin, or what the claim plans for; for *at least the margin* twice that."""
        margin = claim["margin"]
        named = {SUPPORTED: claim.get("plan_for") or margin, AT_LEAST: 2 * margin}
        return {side: effect for side, effect in named.items() if effect}

    def power(
        self, side: str, found: Any, margin: float, effect: float, pairs: int, alpha: float
    ) -> float:
        """Integrals over the spread that a sweep would measure."""
        error = np.sqrt(found.seed_variance / pairs + found.sentence_variance)
        half = halves(found, pairs, alpha / 2)
        bound = margin + half if side == AT_LEAST else np.maximum(half, margin - half)
        return float(stats.norm.sf((bound - effect) / error).mean())
