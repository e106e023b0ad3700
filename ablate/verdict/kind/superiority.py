"""Decide claims of superiority, that an arm is better than another, and claims of a trend.

The effect is tested against 0 and then against the margin. With the two-sided 1 - alpha interval
[l, u] and margin m: l >= m is supported, *large enough to matter*; 0 < l < m <= u is supported,
*direction only*; u < 0 is refuted, *the other way round*; u < m is refuted, *too small to matter*;
anything else is undecided. The second test needs no part of alpha, since it can only reject if the
first test does (fixed sequence: Maurer, Hothorn & Lehmacher 1995). A claim of a trend is that the
metric gets better as the levels (values) of a factor grow. The same rule is applied to the slope of
the metric over the levels.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from ablate.evidence.types import Claim
from ablate.stats.holm import Tests
from ablate.stats.power import Values
from ablate.stats.ties import at_most
from ablate.verdict.decision import (
    DIRECTION,
    INCONCLUSIVE,
    LARGE,
    OPPOSITE,
    REFUTED,
    SMALL,
    SUPPORTED,
    Decision,
    MarginThreshold,
    side,
    thresholds,
)
from ablate.verdict.kind.base import Kind


class Superiority(Kind):
    """The kind of claim that the mean paired difference is above 0."""

    rule = (
        "supported when the whole interval lies above 0 and its upper end is at least the margin "
        "(large enough to matter if the whole interval lies above the margin, otherwise direction "
        "only). They are refuted when the whole interval lies below the margin (as an effect in "
        "the opposite direction if the whole interval lies below 0, otherwise as too small to "
        "matter). Otherwise they are undecided"
    )

    def tests(self, estimate: Any, margin: float) -> Tests:
        """Return the one-sided p-value of each status and grade that a verdict can have.

        The null hypotheses on the true effect are, with the margin m: at most 0 for SUPPORTED, at
        least m for REFUTED, at most m for LARGE, and at least 0 for OPPOSITE. Without a margin, the
        grades have no tests of their own.
        """
        p = {SUPPORTED: estimate.p_at_most(0.0), REFUTED: estimate.p_at_least(margin)}
        if not margin:
            return p
        return p | {LARGE: estimate.p_at_most(margin), OPPOSITE: estimate.p_at_least(0.0)}

    def decide(self, p: Tests, alpha: float) -> Decision:
        """Return the decision for p-values by the rule in the docstring of this module."""
        status = side(p, alpha)
        if status == REFUTED:
            return Decision(status, OPPOSITE if at_most(p.get(OPPOSITE, 0.0), alpha) else SMALL)
        if status == INCONCLUSIVE:
            return Decision(status)
        return Decision(status, LARGE if at_most(p.get(LARGE, 1.0), alpha) else DIRECTION)

    def turns(self, estimate: Any, alpha: float) -> list[MarginThreshold]:
        """Return the margins at which the decision changes: 0, and the ends of the confidence
        interval of the effect that are above 0.
        """
        low, high = estimate.interval(1 - alpha)
        if low <= 0:
            grade = OPPOSITE if high < 0 else SMALL
            return thresholds((0.0, INCONCLUSIVE), (high, REFUTED, grade))
        return thresholds(
            (0.0, SUPPORTED, LARGE), (low, SUPPORTED, DIRECTION), (high, REFUTED, SMALL)
        )

    def named(self, claim: Claim) -> dict[str, float]:
        """Return, for each decision, the true effect that a planned number of seeds must detect.

        The decision "supported" must detect the claim's `plan_for`, or the margin if it has none;
        the decision "large enough to matter" must detect twice the margin.
        """
        margin = claim["margin"]
        named = {SUPPORTED: claim.get("plan_for") or margin, LARGE: 2 * margin}
        return {side: effect for side, effect in named.items() if effect}

    def least(self, side: str, margin: float, down: Values, up: Values) -> Values:
        """Return the smallest estimate that is supported, or "large enough to matter"."""
        return margin + down if side == LARGE else np.maximum(down, margin - up)


class Trend(Superiority):
    """The kind of claim that the metric gets better as the levels (values) of a factor grow: its
    slope in the better direction is above 0.
    """

    rule = "judged like superiority claims, with the slope in place of the difference between arms"

    def problems(self, claim: Claim, factors: list[str]) -> Iterator[str]:
        """Yield a problem unless the claim's key `over` names a factor of the study."""
        if claim["over"] not in factors:
            yield (
                f"over={claim['over'] or 'nothing'}; a trend runs over a factor of the study: "
                f"{', '.join(factors)}"
            )
