"""Whether fresh seeds come to the verdict that a study came to before.

The same question, the same rule and plan, other random numbers throughout, and nothing pooled. With
the first and the fresh verdict on a claim:
    reproduced      the same verdict, and of one that is supported at least the same grade
    weaker          the same verdict with a lower grade; or none, while the two effects agree: they
                    differ by no more than the root of the squared halves of their intervals
    not reproduced  another verdict; or none, while the effects do not agree
    open            there was no verdict to reproduce
Effects agree by an interval for the difference of two independent estimates. A rule that only asks
whether the fresh result is significant too would call many true effects lost (Open Science
Collaboration 2015, Science 349, aac4716, which uses several).
"""

import math
from collections.abc import Sequence
from typing import TypedDict

from ablate.evidence.types import Entry, Verdict
from ablate.verdict.decision import DIRECTION, INCONCLUSIVE, LARGE, SUPPORTED, today

RULE = (  # as pages say it
    "Reproduced: fresh seeds alone come to the same verdict, and of a supported claim to the same "
    "grade at least. Weaker: to a lower grade, or to no verdict while both effects differ by no "
    "more than the root of the squared halves of their intervals. Not reproduced: every other "
    "outcome. "
    "Open: there was no verdict to reproduce."
)
REPRODUCED, WEAKER, LOST, OPEN = "reproduced", "weaker", "not reproduced", "open"
GRADES = ("", DIRECTION, LARGE)  # of what is supported, ascending


def _rank(grade: str) -> int:
    """Return the place of a grade, also of one that an earlier version named."""
    return GRADES.index(today(grade))


def replication(first: "Entry | Short", fresh: "Entry | Short") -> str:
    """The word for a claim, from its entries in the two verdicts."""
    if first["verdict"] == INCONCLUSIVE:
        return OPEN
    if fresh["verdict"] == first["verdict"]:
        graded = fresh["verdict"] == SUPPORTED
        lower = graded and _rank(fresh["grade"]) < _rank(first["grade"])
        return WEAKER if lower else REPRODUCED
    return WEAKER if fresh["verdict"] == INCONCLUSIVE and agree(first, fresh) else LOST


def agree(first: "Entry | Short", fresh: "Entry | Short") -> bool:
    """Whether two effects differ by no more than chance; never where one has no interval."""
    if first["effect"] is None or fresh["effect"] is None:
        return False
    if not first["interval"] or not fresh["interval"]:
        return False
    one, other = first["effect"], fresh["effect"]
    halves = [_towards(one, first["interval"], other), _towards(other, fresh["interval"], one)]
    return bool(abs(one - other) <= math.hypot(*halves))


def _towards(effect: float, interval: Sequence[float], other: float) -> float:
    """From an effect to the end of its interval on the side of another effect."""
    low, high = interval
    return high - effect if other > effect else effect - low


class Short(TypedDict):
    """What is told of a verdict."""

    verdict: str
    grade: str
    effect: float | None
    interval: list[float] | None
    evidence: str


class Replication(TypedDict):
    """A claim of contest.json."""

    id: str
    reading: str
    statement: str
    replication: str
    first: Short
    fresh: Short
    exploratory: bool


def replications(first: Verdict, fresh: Verdict) -> list[Replication]:
    """Of every claim of two verdict.json of one study what came of it, beside both verdicts."""
    return [
        {
            "id": old["id"],
            "reading": old.get("reading", ""),
            "statement": old["statement"],
            "replication": replication(old, new),
            "first": _short(old),
            "fresh": _short(new),
            "exploratory": new["exploratory"],
        }
        for old, new in zip(first["claims"], fresh["claims"], strict=True)
    ]


def _short(entry: Entry) -> Short:
    return {
        "verdict": entry["verdict"],
        "grade": entry["grade"],
        "effect": entry["effect"],
        "interval": entry["interval"],
        "evidence": entry["evidence"],
    }
