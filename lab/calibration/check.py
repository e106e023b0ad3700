"""Which shares of errors lie above their level by more than the simulation's own chance."""

from dataclasses import dataclass

from scipy import stats

SURE = 0.01  # for all rows together (Bonferroni)


@dataclass(frozen=True)
class Row:
    """A share of `sweeps` that went wrong, and the share that may."""

    name: str
    share: float
    level: float
    sweeps: int

    def lower(self, tail: float) -> float:
        """Lower bound of the true share (Clopper & Pearson 1934)."""
        wrong = round(self.share * self.sweeps)
        return float(stats.beta.ppf(tail, wrong, self.sweeps - wrong + 1)) if wrong else 0.0


def failures(rows: list[Row]) -> list[str]:
    """Rows whose lower 99 % bound, divided among all rows, is above their level; as sentences."""
    return [
        f"{row.name}: {100 * row.share:.1f} %, allowed is {100 * row.level:.1f} %"
        for row in rows
        if row.lower(SURE / len(rows)) > row.level
    ]
