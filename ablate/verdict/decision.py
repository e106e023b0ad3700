"""The words of a verdict: its status, and the grade beside it.

A status is supported, refuted or inconclusive. Of a claim that one thing is better, the grade says
by how much, in a fixed sequence of tests: *direction only* (above 0), then *large enough to matter*
(at least the margin). An effect that is shown to be below the margin refutes the claim, since the
margin is the smallest difference that the claim names: *too small to matter*, or, where it is shown
to be below 0, *the other way round*.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, cast

from ablate.errors import UserError
from ablate.evidence.types import Entry, Verdict

AnEntry = TypeVar("AnEntry", bound=Entry)
SUPPORTED, REFUTED, INCONCLUSIVE = "supported", "refuted", "inconclusive"
DIRECTION, LARGE = "direction only", "large enough to matter"  # of supported
SMALL, OPPOSITE = "too small to matter", "the other way round"  # of refuted
FORMER = {  # grades in the verdict.json of earlier versions
    "there": DIRECTION,
    "at least the margin": LARGE,
    "real, but smaller than the margin": SMALL,
}


@dataclass(frozen=True)
class Decision:
    """A status with its grade, "" where the kind of claim has none."""

    status: str
    grade: str = ""

    def __str__(self) -> str:
        """`supported, large enough to matter`, or the status alone."""
        return f"{self.status}, {self.grade}" if self.grade else self.status


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


def read_verdict(path: Path) -> Verdict:
    """What a verdict.json says; one of an earlier version has no seal.

    Raises:
        UserError: it is missing or damaged, or was changed since it was written.
    """
    from ablate.record.files import SEAL, check_seal  # numpy

    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        sealed = SEAL in found
    except (OSError, ValueError, TypeError, RecursionError) as error:
        raise UserError(f"{path} is damaged ({type(error).__name__})") from None
    if sealed and not check_seal(found):
        raise UserError(
            f"{path} is damaged or was edited: ablate judge {path.parent} makes it anew"
        )
    for entry in found.get("claims", []):
        for answer in (entry, entry.get("short", {})):
            for graded in (answer, *answer.get("sensitivity", [])):
                graded |= {"grade": today(graded["grade"])} if "grade" in graded else {}
    return cast(Verdict, found)


def today(grade: str) -> str:
    """Return the grade that an earlier version called so."""
    return FORMER.get(grade, grade)


def is_exact(claim: Mapping[str, object]) -> bool:
    """Return whether a verdict leaves nothing to chance: exact, and about no trained model."""
    return claim["kind"] == "exact" and not claim["p"]


def was_trained(verdict: Verdict) -> bool:
    """Return whether the runs of a verdict took optimiser steps; also where none has ended."""
    ended = [arm for arm in verdict["arms"] if arm["metrics"]]
    return not ended or any("steps" in arm["metrics"] for arm in ended)


def at_each_budget(claims: Iterable[AnEntry]) -> Iterator[AnEntry]:
    """Every claim of verdict.json, and then what that says of it at its short budget."""
    for claim in claims:
        yield claim
        if "short" in claim:
            short: Any = claim["short"]  # has the keys of an entry that differ
            yield cast(AnEntry, {**claim, **short})
