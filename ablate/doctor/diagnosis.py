"""Define the result of a check of `ablate doctor`."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Diagnosis:
    """The result of a check of the installation.

    `check` is the name of the check, and `seen` describes the state of the checked part. `problem`
    and `advice` are "" if there is no problem.
    """

    check: str
    seen: str
    problem: str = ""
    advice: str = ""

    def lines(self) -> list[str]:
        """Return the lines that `ablate doctor` prints for this check: one with the state of the
        checked part and, if there is a problem, one with the problem and the advice.
        """
        mark = "!" if self.problem else " "
        first = f"{mark} {self.check:9} {self.seen}"
        return [first, f"{'':12}{self.problem}: {self.advice}"] if self.problem else [first]


def size(n_bytes: float | int) -> str:
    """Return a number of bytes as text, in MB or GB."""
    return f"{n_bytes / 1e9:,.1f} GB" if n_bytes >= 1e9 else f"{n_bytes / 1e6:,.0f} MB"
