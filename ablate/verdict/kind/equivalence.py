"""Two arms are the same but for the margin m: two one-sided tests (Schuirmann 1987).

Supported when the 1 - 2 alpha interval lies inside +-m, refuted when the 1 - alpha interval lies
outside, else inconclusive.
"""

from typing import Any

import numpy as np
from scipy import special

from ablate.stats.holm import Tests
from ablate.stats.power import half_widths
from ablate.verdict.decision import INCONCLUSIVE, REFUTED, SUPPORTED, Decision, Turn
from ablate.verdict.kind.base import distinct
from ablate.verdict.kind.sameness import Sameness


class Equivalence(Sameness):
    """The mean paired difference lies within the margin on both sides."""

    rule = (
        "supported when the 90 % interval (1 - 2 alpha) lies within the margin on both sides, "
        "refuted when the 95 % interval (1 - alpha) lies outside of it"
    )
    whole = (SUPPORTED,)

    def tests(self, found: Any, margin: float) -> Tests:
        """Both sides must hold to support; one is enough to refute."""
        return {
            SUPPORTED: max(found.p_at_most(-margin), found.p_at_least(margin)),
            REFUTED: min(found.p_at_most(margin), found.p_at_least(-margin)),
        }

    def of_failures(self, better: float, worse: float) -> Tests:
        """Two arms that fail at different rates are not the same."""
        return {SUPPORTED: 1.0, REFUTED: min(better, worse)}

    def turns(self, found: Any, alpha: float) -> list[Turn]:
        """Where +-m leaves the wide interval, and where it holds the narrow one."""
        (low, high), narrow = found.interval(1 - alpha), found.interval(1 - 2 * alpha)
        return distinct(
            [
                Turn(0.0, Decision(REFUTED)),
                Turn(max(low, -high), Decision(INCONCLUSIVE)),
                Turn(max(map(abs, narrow)), Decision(SUPPORTED)),
            ]
        )

    def bounds(self, margin: float) -> tuple[float, ...]:
        """Both sides."""
        return (-margin, margin)

    def power(
        self, side: str, found: Any, margin: float, effect: float, pairs: int, alpha: float
    ) -> float:
        """Integrals over the spread that a sweep would measure."""
        error = np.sqrt(found.seed_variance / pairs + found.sentence_variance)
        down, up = half_widths(found, pairs, alpha)
        chance = special.ndtr((margin - up - effect) / error)
        chance = chance - special.ndtr((down - margin - effect) / error)
        return float(np.maximum(chance, 0.0).mean())
