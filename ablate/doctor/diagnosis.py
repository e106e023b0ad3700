"""One line of `ablate doctor`."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Diagnosis:
    """What a check saw, what is wrong with it, and what to do; without a problem it is sound."""

    check: str
    seen: str
    problem: str = ""
    advice: str = ""

    def lines(self) -> list[str]:
        """Return the line about what was seen, and one more about its problem."""
        mark = "!" if self.problem else " "
        first = f"{mark} {self.check:9} {self.seen}"
        return [first, f"{'':12}{self.problem}: {self.advice}"] if self.problem else [first]


def size(n_bytes: float | int) -> str:
    """Return a number of bytes for a person."""
    return f"{n_bytes / 1e9:,.1f} GB" if n_bytes >= 1e9 else f"{n_bytes / 1e6:,.0f} MB"
