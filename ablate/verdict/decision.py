"""Define the status and the grade of a verdict, and read verdict.json.

The status is supported, refuted or inconclusive. For a claim that an arm is better, the grade
states the size, from a fixed sequence of tests: *direction only* (above 0), then *large enough to
matter* (at least the margin). An effect below the margin refutes the claim, because the margin is
the smallest difference that the claim asserts. The grade is then *too small to matter*, or, for an
effect below 0, *the other way round*.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from ablate.errors import UserError
from ablate.evidence.types import Answer, Entry, Verdict
from ablate.phrases import listed
from ablate.stats.ties import above, at_most

if TYPE_CHECKING:
    from pydantic import TypeAdapter

AnEntry = TypeVar("AnEntry", bound=Entry)
SUPPORTED, REFUTED, INCONCLUSIVE = "supported", "refuted", "inconclusive"
DIRECTION, LARGE = "direction only", "large enough to matter"  # grades of supported claims
SMALL, OPPOSITE = "too small to matter", "the other way round"  # grades of refuted claims


@dataclass(frozen=True)
class Decision:
    """The decision on a claim: its status, and a grade that states the size of the effect.

    The status is supported, refuted or inconclusive. The grade, such as "large enough to matter",
    is "" for an inconclusive claim and for kinds of claims without grades.
    """

    status: str
    grade: str = ""

    def __str__(self) -> str:
        """Return status and grade, such as "supported, large enough to matter"."""
        return f"{self.status}, {self.grade}" if self.grade else self.status


def side(p: dict[str, float], alpha: float) -> str:
    """Return the status of a verdict: refuted, supported or inconclusive.

    If both tests reject, the claim is refuted.

    Args:
        p: p-values of the tests that lead to "supported" and to "refuted", by these names. A
            p-value of a test at alpha / 2 is already doubled, so each is compared with alpha.
        alpha: the significance level.
    """
    if at_most(p[REFUTED], alpha):
        return REFUTED
    return SUPPORTED if at_most(p[SUPPORTED], alpha) else INCONCLUSIVE


@dataclass(frozen=True)
class MarginThreshold:
    """The decision that a claim would have with any margin from `margin` up to the next
    threshold.
    """

    margin: float
    decision: Decision


def thresholds(*turns: tuple[float, *tuple[str, ...]]) -> list[MarginThreshold]:
    """Return the margins of 0 and more at which a decision changes, ascending; the first is 0.

    A decision that holds for no margin of 0 or more is left out.

    Args:
        turns: margins, ascending, the first possibly negative. The status of the decision that
            holds from this margin on, and its grade if it has one, follow each margin.
    """
    ends = [*(margin for margin, *_ in turns[1:]), None]
    return [
        MarginThreshold(max(0.0, margin), Decision(*words))
        for (margin, *words), end in zip(turns, ends, strict=True)
        if end is None or above(end, max(0.0, margin))
    ]


def read_verdict(path: Path) -> Verdict:
    """Return the content of a verdict.json.

    Raises:
        UserError: the file is missing, damaged or of an earlier version, or was changed after it
            was written.
    """
    from pydantic import ValidationError  # takes a tenth of a second

    from ablate.record.files import SEAL, check_seal  # imports numpy

    again = f"run `ablate judge {path.parent}` to write it again"
    try:
        content = path.read_bytes()
        form().validate_json(content)
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error}): {again}") from None
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"]))
        raise UserError(
            f"{path} is damaged or of an earlier version: {field}: {first['msg']}: {again}"
        ) from None
    verdict = json.loads(content)
    if SEAL in verdict and not check_seal(verdict):
        raise UserError(f"{path} was edited: {again}")
    return cast(Verdict, verdict)


@cache
def form() -> "TypeAdapter[Verdict]":
    """Return pydantic's validator of verdict.json, which also gives its JSON schema."""
    from pydantic import TypeAdapter

    return TypeAdapter(Verdict)


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


def trend_reversal(claim: Entry, whole: Verdict) -> str:
    """Return the neighbouring levels between which the mean of a supported trend changes against
    the claim, such as "from 1,024 subwords to 4,096 subwords".

    The result is "" if there are none, or if the verdict is about a short budget, because the means
    of the arms are those of the long one.
    """
    short = claim.get("short")
    if claim["kind"] != "trend" or claim["verdict"] != SUPPORTED or claim.get("minus"):
        return ""
    if short and claim["steps"] == short["steps"]:
        return ""
    over, metric, where = claim["over"], claim["metric"], claim.get("where") or {}
    sign = 1 if claim["better"] == "higher" else -1
    means = sorted(
        (float(str(arm["levels"][over])), sign * arm["metrics"][metric]["mean"], arm["label"])
        for arm in whole["arms"]
        if {**arm["levels"], **where} == arm["levels"] and metric in arm["metrics"]
    )
    return listed(
        [
            f"from {first} to {second}"
            for (level, before, first), (other, after, second) in pairwise(means)
            if level != other and above(before, after)
        ]
    )
