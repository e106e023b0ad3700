"""Decide claims that an arm loses nothing that matters: equivalence and non-inferiority.

Equivalence: two arms differ by less than the margin m. The rule is the two one-sided tests
(Schuirmann 1987): supported if the 1 - 2 alpha interval is inside +-m, refuted if the 1 - alpha
interval is outside +-m, else undecided.

Non-inferiority: an arm is not worse than another by the margin m or more. The rule is one-sided:
supported if the 1 - alpha interval is above -m, refuted if it is below -m. An arm that is better
than the other never refutes the claim.

Both kinds need a margin and may name a positive control. The number of seeds is planned for a true
difference of 0, unless the claim names another difference in `plan_for`. A positive control is an
arm of the same sweep that loses more than the margin. Without a control, it is not shown that the
runs could detect a loss.
"""

from typing import Any

import numpy as np
from scipy import special

from ablate.evidence.types import Claim
from ablate.stats.holm import Tests
from ablate.stats.power import Values, half_widths, planned_error
from ablate.verdict.decision import (
    INCONCLUSIVE,
    REFUTED,
    SUPPORTED,
    MarginThreshold,
    thresholds,
)
from ablate.verdict.kind.base import Kind


class Sameness(Kind):
    """The kind of claim that one arm differs from another by less than the margin, in both
    directions (equivalence) or only for the worse (non-inferiority).
    """

    needs_margin = True
    controlled = True

    def named(self, claim: Claim) -> dict[str, float]:
        """Return the true difference for which seeds are planned, for the decision "supported".

        The difference is the claim's `plan_for`, or 0 if the claim has none.
        """
        return {SUPPORTED: claim.get("plan_for") or 0.0}


class Equivalence(Sameness):
    """The kind of claim that the mean paired difference is within the margin on both sides."""

    rule = (
        "supported when the 90 % interval (1 - 2 alpha) lies within the margin on both sides, "
        "refuted when the whole 95 % interval (1 - alpha) lies outside of the margin"
    )
    whole = (SUPPORTED,)
    signs = (-1, 1)

    def tests(self, estimate: Any, margin: float) -> Tests:
        """Return the p-values of the decisions supported and refuted.

        The claim is supported if two tests show that the difference is above minus the margin and
        below the margin. It is refuted if a test shows that the difference is above the margin, or
        below minus the margin.
        """
        return {
            SUPPORTED: max(estimate.p_at_most(-margin), estimate.p_at_least(margin)),
            REFUTED: min(estimate.p_at_most(margin), estimate.p_at_least(-margin)),
        }

    def of_failures(self, better: float, worse: float) -> Tests:
        """Return the p-values of the decisions; different failure rates refute equivalence."""
        return {SUPPORTED: 1.0, REFUTED: min(better, worse)}

    def turns(self, estimate: Any, alpha: float) -> list[MarginThreshold]:
        """Return the margins at which the decision changes.

        With a margin below the first of them, the whole 1 - alpha interval of the difference is
        further from 0 than the margin: refuted. With a margin above the second, the whole
        1 - 2 alpha interval is closer to 0 than the margin: supported.
        """
        (low, high), narrow = estimate.interval(1 - alpha), estimate.interval(1 - 2 * alpha)
        inside, outside = max(map(abs, narrow)), max(low, -high)
        return thresholds((0.0, REFUTED), (outside, INCONCLUSIVE), (inside, SUPPORTED))

    def power(
        self, side: str, estimate: Any, margin: float, effect: float, pairs: int, alpha: float
    ) -> float:
        """Return the probability that the claim is supported, if `effect` is the true difference.

        As for other kinds, the result is a mean over likely standard deviations.
        """
        error, (down, up) = planned_error(estimate, pairs), half_widths(estimate, pairs, alpha)
        chance = special.ndtr((margin - up - effect) / error)
        chance = chance - special.ndtr((down - margin - effect) / error)
        return float(np.maximum(chance, 0.0).mean())


class NonInferiority(Sameness):
    """The kind of claim that the mean paired difference is above minus the margin."""

    rule = (
        "supported when the whole interval lies above minus the margin, and refuted when the whole "
        "interval lies below minus the margin. A better treatment therefore never refutes the claim"
    )
    signs = (-1,)

    def tests(self, estimate: Any, margin: float) -> Tests:
        """Return the p-values of the decisions "supported" and "refuted".

        "Supported" needs the rejection of the null hypothesis that the arm is worse than the other
        arm by the margin or more. "Refuted" needs the rejection of the null hypothesis that the arm
        is better, or worse by the margin at most.
        """
        return {SUPPORTED: estimate.p_at_most(-margin), REFUTED: estimate.p_at_least(-margin)}

    def turns(self, estimate: Any, alpha: float) -> list[MarginThreshold]:
        """Return the margins at which the decision changes.

        They are the ends of the confidence interval of the difference, with the opposite sign.
        """
        low, high = estimate.interval(1 - alpha)
        return thresholds((0.0, REFUTED), (-high, INCONCLUSIVE), (-low, SUPPORTED))

    def least(self, side: str, margin: float, down: Values, up: Values) -> Values:
        """Return the smallest estimate that is supported."""
        return down - margin
