"""Define the result of a check of `ablate doctor`."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Diagnosis:
    """The result of a check of the installation: what was seen, the problem and the advice. The
    problem and the advice are "" if all is well.
    """

    check: str
    seen: str
    problem: str = ""
    advice: str = ""

    def lines(self) -> list[str]:
        """Return the lines that `ablate doctor` prints for this check: what was found, and a second
        line with the advice if there is a problem.
        """
        mark = "!" if self.problem else " "
        first = f"{mark} {self.check:9} {self.seen}"
        return [first, f"{'':12}{self.problem}: {self.advice}"] if self.problem else [first]


def size(n_bytes: float | int) -> str:
    """Return a number of bytes in readable units."""
    return f"{n_bytes / 1e9:,.1f} GB" if n_bytes >= 1e9 else f"{n_bytes / 1e6:,.0f} MB"
