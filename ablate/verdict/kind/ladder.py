"""The differences of a named level from every other level of its factor."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from ablate.evidence.types import Rung
from ablate.stats.estimate import Estimate
from ablate.stats.spending import Fractions

EQUAL = 0.5  # correlation of differences that share an arm, all arms being equally noisy
NEARLY_ONE = 0.99


@dataclass(frozen=True)
class Ladder:
    """One difference per other level, of which the lowest interval is the one that is told."""

    rungs: dict[str, Estimate]  # the named level minus another, by the name of the other
    alpha: float
    shared: float = EQUAL  # correlation of the rungs over the seeds

    @property
    def lowest(self) -> str:
        """The level against which the named one does worst, by the lower end of its interval."""
        ends = {name: self.rungs[name].interval(1 - self.alpha)[0] for name in self.rungs}
        return min(ends, key=lambda name: (ends[name], self.rungs[name].effect))

    @property
    def told(self) -> Estimate:
        """The difference from that level."""
        return self.rungs[self.lowest]

    @property
    def effect(self) -> float:
        """Difference from the level against which the named one does worst."""
        return self.told.effect

    @property
    def pairs(self) -> int:
        """Pairs behind that difference."""
        return self.told.pairs

    @property
    def sentences(self) -> int:
        """Test sentences behind that difference."""
        return self.told.sentences

    @property
    def units(self) -> str:
        """What is counted there."""
        return self.told.units

    @property
    def error(self) -> float:
        """Standard error of that difference."""
        return self.told.error

    @property
    def method(self) -> str:
        """How each interval was made, in words."""
        return f"{self.told.method}, against each of {len(self.rungs)} levels"

    @property
    def levels_of_noise(self) -> str:
        """What the intervals cover."""
        return self.told.levels_of_noise

    @property
    def looks(self) -> Fractions:
        """The looks that were taken, this one last."""
        return self.told.looks

    def interval(self, level: float) -> tuple[float, float]:
        """Two-sided interval of the difference that is told."""
        return self.told.interval(level)

    def entry(self) -> dict[str, Rung]:
        """Every difference with its interval, as verdict.json has it."""
        return {
            name: {"effect": one.effect, "interval": [*one.interval(1 - self.alpha)]}
            for name, one in self.rungs.items()
            if one.pairs > 1
        }


def correlation(rungs: Float[np.ndarray, "rungs seeds"]) -> float:
    """Correlation over the seeds of differences that share an arm, from 0 to below 1.

    It is the mean covariance over the mean variance; that of equally noisy arms where it can't be
    known.
    """
    levels, seeds = rungs.shape
    if levels < 2 or seeds < 3:
        return EQUAL
    covariance = np.cov(rungs)
    own = float(np.trace(covariance))
    if own == 0:
        return EQUAL
    others = float(covariance.sum()) - own
    return min(max(0.0, others / (levels - 1) / own), NEARLY_ONE)
