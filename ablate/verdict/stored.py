"""Read verdict.json, and compare it with the verdict on new seeds in contest.json.

In a replication, the question, the rule and the plan are the same. All random numbers are new. The
new runs are not pooled with the old runs. The outcomes for a claim are:

    reproduced         the same verdict; if supported, at least the same grade
    partly reproduced  the same verdict with a lower grade; or undecided, while the effects agree
    not reproduced     another verdict; or undecided, while the effects do not agree
    open               there was no verdict to reproduce

Two effects agree if they differ by no more than the root of the sum of the squared half-widths of
their intervals. This root is the half-width of an interval for the difference of two independent
estimates. A rule that only asks whether the new result is significant too would reject many true
effects (Open Science Collaboration 2015, Science 349, aac4716, which uses several rules).
"""

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NotRequired, TypeVar, cast

from pydantic import ValidationError
from typing_extensions import TypedDict

from ablate.errors import UserError
from ablate.evidence.checks import adapter, check_form, first_problem, read_json
from ablate.phrases import claim_name
from ablate.record.files import SEAL, check_seal
from ablate.verdict.types import (
    DIRECTION,
    INCONCLUSIVE,
    LARGE,
    SUPPORTED,
    Answer,
    Entry,
    Grade,
    Status,
    Verdict,
)

AnEntry = TypeVar("AnEntry", bound=Entry)
RULE = (  # the rule in words, for pages
    "Reproduced: the fresh seeds alone give the same answer, and a supported claim has at least "
    'the same grade ("large enough to matter" is a higher grade than "direction only"). '
    "Partly reproduced: the answer is the same with a lower grade, or it is undecided although the "
    "two effects differ by no more than the root of the sum of the squared half-widths of their "
    "intervals. Not reproduced: every other outcome. Open: the first answer was undecided."
)
REPRODUCED, PARTLY, LOST, OPEN = "reproduced", "partly reproduced", "not reproduced", "open"
RESULT = "contest.json"  # the results on new seeds, stored beside the original verdict
SAME = 1e-6  # relative difference up to which effects are equal, as verdict.json has fewer digits
Estimated = tuple[float, tuple[float, float]]  # an effect, and the ends of its interval
GRADES = ("", DIRECTION, LARGE)  # grades of supported claims, ascending


def read_verdict(path: Path) -> Verdict:
    """Return the content of a verdict.json.

    Raises:
        UserError: the file is missing, damaged or of an earlier version, or was changed after it
            was written.
    """
    again = f"run `ablate judge {path.parent}` to write it again"
    try:
        content = path.read_bytes()
        adapter(Verdict).validate_json(content)
    except (OSError, ValidationError) as error:
        problem = first_problem(error) if isinstance(error, ValidationError) else error
        raise UserError(f"{path} is damaged or of an earlier version: {problem}: {again}") from None
    verdict = json.loads(content)
    if SEAL in verdict and not check_seal(verdict):
        raise UserError(f"{path} was edited: {again}")
    return cast(Verdict, verdict)


def is_exact(claim: Mapping[str, object]) -> bool:
    """Return whether a claim in verdict.json is exact and is not about trained models.

    Such a claim has no random error.
    """
    return claim["kind"] == "exact" and not claim["p"]


def was_trained(verdict: Verdict) -> bool:
    """Return whether the runs of a verdict were trained; also true if every run failed."""
    ended = [arm for arm in verdict["arms"] if arm["metrics"]]
    return not ended or any("steps" in arm["metrics"] for arm in ended)


def at_each_budget(claims: Iterable[AnEntry]) -> Iterator[AnEntry]:
    """Yield every claim of verdict.json, once for each budget at which its runs were tested.

    A claim whose runs were also tested at a short budget (a smaller number of steps) follows again,
    with its result at this budget.
    """
    for claim in claims:
        yield claim
        if "short" in claim:
            asked: Any = {k: v for k, v in claim.items() if k not in Answer.__annotations__}
            yield cast(AnEntry, {**asked, **claim["short"]})


def is_short(claim: Entry) -> bool:
    """Return whether a claim has its result at the short budget, from `at_each_budget`."""
    return "short" in claim and claim["steps"] == claim["short"]["steps"]


def replication(first: "Entry | Short", fresh: "Entry | Short") -> str:
    """Return the outcome of a replication: "reproduced", "partly reproduced", "not reproduced" or
    "open".

    Args:
        first: the claim in the original verdict.
        fresh: the same claim in the verdict on new seeds.
    """
    if first["verdict"] == INCONCLUSIVE:
        return OPEN
    if fresh["verdict"] == first["verdict"]:
        graded = fresh["verdict"] == SUPPORTED
        lower = graded and GRADES.index(fresh["grade"]) < GRADES.index(first["grade"])
        return PARTLY if lower else REPRODUCED
    return PARTLY if fresh["verdict"] == INCONCLUSIVE and agree(first, fresh) else LOST


def agree(first: "Entry | Short", fresh: "Entry | Short") -> bool:
    """Return whether two effects differ by no more than chance; False if an interval is missing."""
    effects = [(each["effect"], each["interval"]) for each in (first, fresh)]
    estimates = [(x, (ends[0], ends[1])) for x, ends in effects if x is not None and ends]
    return len(estimates) == 2 and distance(*estimates) <= 1


def distance(first: Estimated, second: Estimated) -> float:
    """Return the difference of two effects, divided by the half-width of the difference's interval.

    The interval of the difference is that of Zou & Donner (2008), square-and-add. The result is 0
    for equal effects.

    Args:
        first, second: an effect, and the ends of its interval.
    """
    (low, (_, low_end)), (high, (high_end, _)) = sorted((first, second))
    width = math.hypot(high - high_end, low_end - low)
    return (high - low) / width if width else math.inf if high > low else 0.0


class Short(TypedDict):
    """The result of a claim in contest.json, on the original seeds or on the new seeds."""

    verdict: Status
    grade: Grade
    effect: float | None
    interval: list[float] | None
    p: NotRequired[dict[str, float]]  # of the claim alone; files of earlier versions have none


class Replication(TypedDict):
    """A claim in contest.json: its original result, its result on new seeds, and their
    comparison.
    """

    id: str
    reading: str
    statement: str
    replication: str
    first: Short
    fresh: Short
    exploratory: bool


class Contest(TypedDict):
    """The content of contest.json: the results of a study on new seeds.

    `replicate` is the number of the set of seeds, which is part of every random seed. Files of
    earlier versions have no number.
    """

    replicate: NotRequired[int]
    claims: list[Replication]


def replications(first: Verdict, fresh: Verdict, asked_before: bool = False) -> list[Replication]:
    """Return the replication of each claim, from the verdicts of one study on old and new seeds.

    Exact claims (a condition must hold in every case) are left out, since new seeds add nothing to
    them.

    Args:
        first: the original verdict.
        fresh: the verdict on new seeds.
        asked_before: whether an earlier replication exists, so that this one is exploratory.
    """
    by_name = {claim_name(new): new for new in fresh["claims"]}
    pairs = [(old, by_name[claim_name(old)]) for old in first["claims"] if not is_exact(old)]
    return [
        {
            "id": old["id"],
            "reading": old.get("reading", ""),
            "statement": old["statement"],
            "replication": replication(old, new),
            "first": _short(old),
            "fresh": _short(new),
            "exploratory": asked_before or new["exploratory"],
        }
        for old, new in pairs
    ]


def _short(entry: Entry) -> Short:
    given: Any = entry
    keys = ("verdict", "grade", "effect", "interval")
    return cast(Short, {key: given[key] for key in keys} | {"p": entry["p_look"]})


def read_contest(folder: Path) -> list[Replication]:
    """Return the replications of the claims in a folder of evidence; [] if no claim was replicated.

    Raises:
        UserError: the file is damaged.
    """
    content = _content(folder)
    return content["claims"] if content else []


def used_replicate(folder: Path, following: int) -> int | None:
    """Return the number of the replicate whose seeds a replication used; None if there was none.

    Args:
        folder: folder of the evidence.
        following: the first replicate number that the evidence does not use. Files of earlier
            versions have no number, because they always used this one.

    Raises:
        UserError: the file is damaged.
    """
    content = _content(folder)
    return content.get("replicate", following) if content else None


def _content(folder: Path) -> Contest | None:
    path = folder / RESULT
    if not path.exists():
        return None
    content: Any = read_json(path)
    check_form(str(path), content, Contest)
    for claim in content["claims"]:
        claim["replication"] = replication(claim["first"], claim["fresh"])
    return cast(Contest, content)


def asked_again(claim: Entry, contest: Iterable[Replication]) -> Replication | None:
    """Return the replication of a claim; None if there is none.

    A replication does not count if the verdict on the claim has changed since. If a claim is judged
    after two numbers of training steps, only the result after the full number has a replication.

    Args:
        claim: the claim in verdict.json.
        contest: the replications of all claims of the study.
    """
    if is_short(claim):
        return None
    return next((replicated for replicated in contest if _is_of(replicated, claim)), None)


def _is_of(replicated: Replication, claim: Entry) -> bool:
    first = replicated["first"]
    key = [replicated["id"], replicated["reading"], first["verdict"]]
    if key != [claim["id"], claim.get("reading", ""), claim["verdict"]]:
        return False  # the statement is not compared, because it may have been reworded
    if claim["verdict"] == SUPPORTED and first["grade"] != claim.get("grade", ""):
        return False
    old, effect = first["effect"], claim["effect"]
    if old is None or effect is None:
        return old == effect
    return math.isclose(old, effect, rel_tol=SAME)
