"""Read and check contest.json: the results on new seeds, stored beside the original verdict."""

import math
from collections.abc import Iterable
from pathlib import Path
from typing import cast

from ablate.errors import UserError
from ablate.evidence.form import check_form
from ablate.evidence.types import Entry
from ablate.verdict.decision import SUPPORTED
from ablate.verdict.replication import Replication, Short, replication

RESULT = "contest.json"
SAME = 1e-6  # relative difference up to which effects are equal, as verdict.json has fewer digits


def read_contest(folder: Path) -> list[Replication]:
    """Return the replications of the claims in a folder of evidence; [] if no claim was replicated.

    Raises:
        UserError: the file is damaged, or its outcomes do not follow from its verdicts.
    """
    from ablate.evidence.seal import read_json  # imports numpy

    path = folder / RESULT
    if not path.exists():
        return []
    claims = read_json(path).get("claims")
    if not isinstance(claims, list):
        raise UserError(f"{path} has no list `claims`: run `ablate reproduce` again to write it")
    for number, claim in enumerate(claims, 1):
        _check(f"{path}: claims, number {number}", claim)
    return claims


def used_replicate(folder: Path, following: int) -> int | None:
    """Return the number of the replicate whose seeds a replication used; None if there was none.

    A replicate is a set of seeds, and its number is part of every random seed.

    Args:
        folder: folder of the evidence.
        following: the first replicate number that the evidence does not use. Files of earlier
            versions have no number, because they always used this one.

    Raises:
        UserError: the file is damaged.
    """
    from ablate.evidence.seal import read_json  # imports numpy

    path = folder / RESULT
    if not path.exists():
        return None
    number = read_json(path).get("replicate", following)
    if not isinstance(number, int):
        raise UserError(f"{path}: replicate={number!r}; it must be a whole number")
    return number


def _update(claim: Replication) -> None:
    """Rename a field that earlier versions wrote, in place: `sentence` becomes `evidence`."""
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
        raise UserError(
            f"{where}: the verdicts `first` and `fresh` cannot be compared ({error}): "
            "restore the file"
        ) from None
    if claim["replication"] != word:
        raise UserError(
            f"{where}: replication={claim['replication']}, but the verdicts `first` and `fresh` "
            f"make it {word}: restore the file"
        )


def copy_contest(source: Path, target: Path) -> None:
    """Copy contest.json, if there is one, from one folder of evidence to another."""
    from ablate.record.files import write_text  # imports numpy

    if (source / RESULT).exists():
        write_text(target / RESULT, (source / RESULT).read_text(encoding="utf-8"))


def asked_again(claim: Entry, contest: Iterable[Replication]) -> Replication | None:
    """Return the replication of a claim; None if there is none.

    A replication does not count if the verdict on the claim has changed since. If a claim is judged
    after two numbers of training steps, only the result after the full number has a replication.

    Args:
        claim: the claim in verdict.json.
        contest: the replications of all claims of the study.
    """
    if "short" in claim and claim["steps"] == claim["short"]["steps"]:
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
