"""Decide claims of non-inferiority: an arm is not worse than another by the margin m or more.

The rule is one-sided: supported if the 1 - alpha interval is above -m, refuted if it is below -m.
An arm that is better than the other never refutes the claim.
"""

from typing import Any

import numpy as np
from scipy import special

from ablate.stats.holm import Tests
from ablate.stats.power import half_widths
from ablate.verdict.decision import INCONCLUSIVE, REFUTED, SUPPORTED, Decision, MarginThreshold
from ablate.verdict.kind.base import distinct
from ablate.verdict.kind.sameness import Sameness


class NonInferiority(Sameness):
    """The kind of claim that the mean paired difference is above minus the margin."""

    rule = (
        "supported when the whole interval lies above minus the margin, and refuted when the whole "
        "interval lies below minus the margin. A better treatment therefore never refutes the claim"
    )

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
        return distinct(
            [
                MarginThreshold(0.0, Decision(REFUTED)),
                MarginThreshold(-high, Decision(INCONCLUSIVE)),
                MarginThreshold(-low, Decision(SUPPORTED)),
            ]
        )

    def bounds(self, margin: float) -> tuple[float, ...]:
        """Return minus the margin, to compare with the ends of an interval."""
        return (-margin,)

    def power(
        self, side: str, estimate: Any, margin: float, effect: float, pairs: int, alpha: float
    ) -> float:
        """Return the probability that the claim is supported, if `effect` is the true difference.

        The width of the interval depends on the standard deviation that the planned sweep will
        measure. So the result is a mean over likely standard deviations.
        """
        error = np.sqrt(estimate.seed_variance / pairs + estimate.sentence_variance)
        bound = half_widths(estimate, pairs, alpha / 2)[0] - margin
        return float(special.ndtr((effect - bound) / error).mean())
