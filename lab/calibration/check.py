"""Find the rates of errors that are above the allowed rate by more than the simulation's error."""

from dataclasses import dataclass

from scipy import stats

SURE = 0.01  # chance that any row fails by chance alone (divided by the number of rows, Bonferroni)


@dataclass(frozen=True)
class Row:
    """A measured rate of errors with the allowed rate.

    Attributes:
        name: the simulated case and the error, in words.
        share: proportion of the sweeps with the error.
        level: allowed proportion.
        sweeps: number of simulated sweeps.
    """

    name: str
    share: float
    level: float
    sweeps: int

    def lower(self, tail: float) -> float:
        """Return the lower bound of the true proportion (Clopper & Pearson 1934).

        `tail` is the probability that the true proportion is below this bound.
        """
        wrong = round(self.share * self.sweeps)
        return float(stats.beta.ppf(tail, wrong, self.sweeps - wrong + 1)) if wrong else 0.0


def failures(rows: list[Row]) -> list[str]:
    """Return a sentence for each row whose lower 99 % bound is above its allowed rate.

    The error probability of 1 % is divided by the number of rows (Bonferroni).
    """
    return [
        f"{row.name}: {100 * row.share:.1f} %, allowed is {100 * row.level:.1f} %"
        for row in rows
        if row.lower(SURE / len(rows)) > row.level
    ]
