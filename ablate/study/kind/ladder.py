"""The differences of a named level from every other level of its factor."""

from dataclasses import dataclass

from ablate.study.estimate import Estimate
from ablate.study.spending import Fractions
from ablate.study.types import Rung


@dataclass(frozen=True)
class Ladder:
    """One difference per other level, of which the lowest interval is the one that is told."""

    rungs: dict[str, Estimate]  # the named level minus another, by the name of the other
    alpha: float

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
