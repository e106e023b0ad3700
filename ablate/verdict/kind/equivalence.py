"""Decide claims of equivalence: two arms differ by less than the margin m.

The rule is the two one-sided tests (Schuirmann 1987): supported if the 1 - 2 alpha interval is
inside +-m, refuted if the 1 - alpha interval is outside +-m, else undecided.
"""

from typing import Any

import numpy as np
from scipy import special

from ablate.stats.holm import Tests
from ablate.stats.power import half_widths
from ablate.verdict.decision import INCONCLUSIVE, REFUTED, SUPPORTED, Decision, MarginThreshold
from ablate.verdict.kind.base import distinct
from ablate.verdict.kind.sameness import Sameness


class Equivalence(Sameness):
    """The kind of claim that the mean paired difference is within the margin on both sides."""

    rule = (
        "supported when the 90 % interval (1 - 2 alpha) lies within the margin on both sides, "
        "refuted when the whole 95 % interval (1 - alpha) lies outside of the margin"
    )
    whole = (SUPPORTED,)

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
        return distinct(
            [
                MarginThreshold(0.0, Decision(REFUTED)),
                MarginThreshold(max(low, -high), Decision(INCONCLUSIVE)),
                MarginThreshold(max(map(abs, narrow)), Decision(SUPPORTED)),
            ]
        )

    def bounds(self, margin: float) -> tuple[float, ...]:
        """Return minus the margin and the margin, to compare with the ends of an interval."""
        return (-margin, margin)

    def power(
        self, side: str, estimate: Any, margin: float, effect: float, pairs: int, alpha: float
    ) -> float:
        """Return the probability that the claim is supported, if `effect` is the true difference.

        The width of the interval depends on the standard deviation that the planned sweep will
        measure. So the result is a mean over likely standard deviations.
        """
        error = np.sqrt(estimate.seed_variance / pairs + estimate.sentence_variance)
        down, up = half_widths(estimate, pairs, alpha)
        chance = special.ndtr((margin - up - effect) / error)
        chance = chance - special.ndtr((down - margin - effect) / error)
        return float(np.maximum(chance, 0.0).mean())
