"""contest.json: what fresh seeds said of the verdicts beside it."""

import math
from collections.abc import Iterable
from pathlib import Path
from typing import cast

from ablate.errors import UserError
from ablate.evidence.form import check_form
from ablate.evidence.types import Entry
from ablate.verdict.decision import SUPPORTED, today
from ablate.verdict.replication import Replication, Short, replication

RESULT = "contest.json"
SAME = 1e-6  # of an effect: verdict.json has fewer digits


def read_contest(folder: Path) -> list[Replication]:
    """What fresh seeds said of the verdicts in a folder; nothing where nobody asked them.

    Raises:
        UserError: the file is damaged, or its words do not follow from its verdicts.
    """
    from ablate.evidence.seal import read_json  # numpy

    path = folder / RESULT
    if not path.exists():
        return []
    claims = read_json(path).get("claims")
    if not isinstance(claims, list):
        raise UserError(f"{path} has no list of claims")
    for number, claim in enumerate(claims, 1):
        _check(f"{path}: claims, number {number}", claim)
    return claims


def used_replicate(folder: Path, following: int) -> int | None:
    """Return the replicate whose seeds a contest used; None where nobody asked fresh seeds.

    `following` is the replicate after those of the evidence. A contest.json that names none is of a
    time when a contest took always that one.

    Raises:
        UserError: the file is damaged.
    """
    from ablate.evidence.seal import read_json  # numpy

    path = folder / RESULT
    if not path.exists():
        return None
    number = read_json(path).get("replicate", following)
    if not isinstance(number, int):
        raise UserError(f"{path}: replicate={number!r}; it must be a whole number")
    return number


def _update(claim: Replication) -> None:
    """Give the line of evidence of an earlier version the name that it has today."""
    for answer in (claim["first"], claim["fresh"]):
        former = cast(dict[str, str], answer)
        if "sentence" in former:
            former["evidence"] = former.pop("sentence")


def _check(where: str, claim: Replication) -> None:
    check_form(where, claim, Replication)
    _update(claim)
    for name in ("first", "fresh"):
        check_form(f"{where}, {name}", claim[name], Short)
    try:
        word = replication(claim["first"], claim["fresh"])
    except (TypeError, ValueError) as error:
        raise UserError(f"{where}: its two verdicts cannot be compared: {error}") from None
    if claim["replication"] != word:
        raise UserError(
            f"{where}: replication={claim['replication']}, and its two verdicts give {word}"
        )


def copy_contest(source: Path, target: Path) -> None:
    """Put what fresh seeds said beside evidence that is copied."""
    from ablate.record.files import write_text  # numpy

    if (source / RESULT).exists():
        write_text(target / RESULT, (source / RESULT).read_text(encoding="utf-8"))


def asked_again(claim: Entry, contest: Iterable[Replication]) -> Replication | None:
    """What fresh seeds said of a verdict.

    Nothing of a verdict that is another one since, or of that at the short budget.
    """
    if "short" in claim and claim["steps"] == claim["short"]["steps"]:
        return None
    return next((one for one in contest if _is_of(one, claim)), None)


def _is_of(one: Replication, claim: Entry) -> bool:
    first = one["first"]
    said = [one["id"], one["reading"], one["statement"], first["verdict"]]
    if said != [claim["id"], claim.get("reading", ""), claim["statement"], claim["verdict"]]:
        return False
    if claim["verdict"] == SUPPORTED and today(first["grade"]) != today(claim.get("grade", "")):
        return False
    old, effect = first["effect"], claim["effect"]
    if old is None or effect is None:
        return old == effect
    return math.isclose(old, effect, rel_tol=SAME)
