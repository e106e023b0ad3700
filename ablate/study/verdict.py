"""The words of a verdict: its status, and the grade beside it.

A status is supported, refuted or inconclusive. Of a claim that one thing is better, the grade says
by how much, in a fixed sequence of tests: *there* (above 0), then *at least the margin*. An effect
that is above 0 but shown to be below the margin refutes the claim, since the margin is the smallest
difference that the claim names; its grade is *real, but smaller than the margin*.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from ablate.study.types import Entry

AnEntry = TypeVar("AnEntry", bound=Entry)
SUPPORTED, REFUTED, INCONCLUSIVE = "supported", "refuted", "inconclusive"
THERE, AT_LEAST, SMALLER = "there", "at least the margin", "real, but smaller than the margin"


@dataclass(frozen=True)
class Decision:
    """A status with its grade, "" where the kind of claim has none."""

    status: str
    grade: str = ""

    def __str__(self) -> str:
        """`supported, at least the margin`, or the status alone."""
        mark = ": " if self.grade == SMALLER else ", "
        return f"{self.status}{mark}{self.grade}" if self.grade else self.status


def side(p: dict[str, float], alpha: float) -> str:
    """The status that p-values on the scale of alpha give; of two that hold, refuted."""
    if p[REFUTED] <= alpha:
        return REFUTED
    return SUPPORTED if p[SUPPORTED] <= alpha else INCONCLUSIVE


@dataclass(frozen=True)
class Turn:
    """What a verdict is from this margin on, until the next turn."""

    margin: float
    decision: Decision


def at_each_budget(claims: Iterable[AnEntry]) -> Iterator[AnEntry]:
    """Every claim of verdict.json, and then what that says of it at its short budget."""
    for claim in claims:
        yield claim
        if "short" in claim:
            short: Any = claim["short"]  # has the keys of an entry that differ
            yield cast(AnEntry, {**claim, **short})
