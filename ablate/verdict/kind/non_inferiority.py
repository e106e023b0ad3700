"""One arm is no worse than the other by the margin m: "works as well", "may be left out".

One-sided: supported when the 1 - alpha interval lies above -m, refuted only when it lies below -m.
Being better never refutes it.
"""

from typing import Any

import numpy as np
from scipy import special

from ablate.stats.holm import Tests
from ablate.stats.power import half_widths
from ablate.verdict.decision import INCONCLUSIVE, REFUTED, SUPPORTED, Decision, Turn
from ablate.verdict.kind.base import distinct
from ablate.verdict.kind.sameness import Sameness


class NonInferiority(Sameness):
    """The mean paired difference is above minus the margin."""

    rule = (
        "supported when the whole interval lies above minus the margin, refuted when it lies below "
        "that; being better never refutes it"
    )

    def tests(self, found: Any, margin: float) -> Tests:
        """Against a loss of at least the margin, and against one of at most that."""
        return {SUPPORTED: found.p_at_most(-margin), REFUTED: found.p_at_least(-margin)}

    def turns(self, found: Any, alpha: float) -> list[Turn]:
        """At the ends of the interval, with their signs turned."""
        return losses(*found.interval(1 - alpha))

    def bounds(self, margin: float) -> tuple[float, ...]:
        """The loss."""
        return (-margin,)

    def power(
        self, side: str, found: Any, margin: float, effect: float, pairs: int, alpha: float
    ) -> float:
        """Integrals over the spread that a sweep would measure."""
        error = np.sqrt(found.seed_variance / pairs + found.sentence_variance)
        bound = half_widths(found, pairs, alpha / 2)[0] - margin
        return float(special.ndtr((effect - bound) / error).mean())


def losses(low: float, high: float) -> list[Turn]:
    """The verdict on "no loss of the margin" by the ends of an interval, for every margin."""
    return distinct(
        [
            Turn(0.0, Decision(REFUTED)),
            Turn(-high, Decision(INCONCLUSIVE)),
            Turn(-low, Decision(SUPPORTED)),
        ]
    )
