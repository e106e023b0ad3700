"""Read the question about a table of runs from a study file, and check it before any work.

Each type of value has a function in `RULES`. The function takes a key (for the error message) and a
value, and returns the value. It raises UserError for a value that is not allowed.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ablate.errors import UserError
from ablate.evidence.foreign.reading import read_yaml
from ablate.evidence.foreign.table import Row, meant
from ablate.phrases import listed
from ablate.referee.question import (
    CLAIM,
    CORRECTED,
    DESIGN,
    LEAVE_OUT,
    RATE,
    REFUSE,
    TEXTBOOK,
    Claim,
    Design,
    Noise,
    Question,
)
from ablate.verdict.kind import KINDS

Rule = Callable[[str, Any], Any]
WANTED = {
    "metric": "name the column with the result of a run",
    "better": "say whether a lower or a higher metric is better",
}


def read_question(path: Path) -> Question:
    """Return the question about a table of runs that a study file (YAML) states.

    A question consists of a design (how to read the table) and of claims about the runs.

    Raises:
        UserError: the file is missing or malformed, or no statistical rule can decide a claim.
    """
    given = read_yaml(path)
    if not isinstance(given, dict):
        raise UserError(
            f"{path} is not a study: write a mapping with keys such as arm, metric and claims"
        )
    try:
        return question({"name": path.stem, **given})
    except UserError as error:
        raise UserError(f"{path}: {error}") from None


def question(given: Mapping[str, object]) -> Question:
    """Return the question about a table of runs, from a mapping with the keys of a study file.

    A question consists of a design (how to read the table) and of claims about the runs. The fields
    of a single claim may be written beside those of the design, without a list of claims. `where`
    then selects the rows of the whole table, unless `minus` needs the other rows, too.

    Raises:
        UserError: a key is unknown or missing, or its value is not allowed.
    """
    claims = given.get("claims")
    of_design = ("alpha",) if claims is None else ("alpha", "where")
    alone = {key: value for key, value in given.items() if key in CLAIM and key not in of_design}
    check_keys("", {**given, "claims": None}, (*DESIGN, *CLAIM, "claims"))
    if claims is not None and alone.keys() - {"statement", "source"}:
        raise UserError(
            f"{next(iter(alone))} is a key of a claim, but stands outside the list `claims`: move "
            "it into a claim"
        )
    if claims is not None and not (isinstance(claims, list) and claims):
        raise UserError("claims must be a list of at least one claim")
    of_claim = ("where",) if alone.get("minus") else ()
    design = design_of({k: v for k, v in given.items() if k in DESIGN and k not in of_claim})
    made = [_claim(number, claim, design) for number, claim in enumerate(claims or [alone], 1)]
    ids = [claim.id for claim in made]
    if twice := next((claim for claim in ids if ids.count(claim) > 1), ""):
        raise UserError(f"claims: two claims have the id {twice}; give each a different id")
    return Question(design, tuple(made))


def check_keys(place: str, given: Mapping[str, object], allowed: Sequence[str]) -> None:
    """Raise UserError for an unknown key; `place` is the start of its name for the message."""
    for key in given:
        if key not in allowed:
            raise UserError(f"unknown key {place}{key}: {meant(str(key), allowed)}")


def design_of(given: Row) -> Design:
    """Return the design, which says how to read the table of runs, from the keys of a study.

    Raises:
        UserError: a key is missing, or its value is not allowed.
    """
    for key, advice in WANTED.items():
        if not given.get(key):
            raise UserError(f"{key} is missing: {advice}")
    design = Design(**checked(given))
    _refuse(_problems_of_design(design))
    return design


def _refuse(problems: Iterator[str]) -> None:
    """Raise UserError with the first problem, if there is one."""
    for problem in problems:
        raise UserError(problem)


def _problems_of_design(design: Design) -> Iterator[str]:
    """Yield a sentence for each pair of settings of the design that exclude each other."""
    if bool(design.run) != bool(design.step):
        yield "run and step belong together: give the columns of both, or of neither"
    if design.floor is not None and design.missing not in (RATE, LEAVE_OUT):
        yield f"floor={design.floor:g} needs missing={RATE} or missing={LEAVE_OUT}"
    if design.floor is not None and design.reach is not None:
        yield (
            "floor and reach cannot be combined: a run that learns nothing never reaches a value; "
            "remove one of them"
        )
    for key, default in (("take", "last"), ("by", ""), ("reach", None)):
        if getattr(design, key) != default and not design.step:
            yield f"{key} needs a table with many rows for each run: give the columns run and step"
    if design.by and design.take != "best":
        yield f"by={design.by} chooses the best row of a run: give take=best, too"
    if design.reach is not None and design.take == "best":
        yield (
            "reach and take=best cannot be combined: reach compares steps, and no row of a run; "
            "remove one of them"
        )


def _claim(number: int, given: Any, design: Design) -> Claim:
    if not isinstance(given, Mapping):
        raise UserError(
            f"claims, number {number}: it is {given!r}, but a claim must be a mapping of keys"
        )
    place = f"claims, {given.get('id', f'number {number}')}: "
    check_keys(place, given, CLAIM)
    values = {"id": f"claim {number}", "alpha": design.alpha, **given}
    try:
        claim = Claim(**checked(values))
        _refuse(_problems(claim, design))
    except UserError as error:
        raise UserError(f"{place if 'id' in given else ''}{error}") from None
    return claim


def _problems(claim: Claim, design: Design) -> Iterator[str]:
    """Yield the reasons why no statistical rule can decide a claim with this design."""
    if KINDS[claim.kind].needs_margin and not claim.margin:
        yield (
            f"margin is missing: {claim.kind} needs the smallest difference of the metric that "
            "matters"
        )
    # the keys that state what the treatment is compared with
    against = [key for key in ("baseline", "target") if getattr(claim, key) is not None]
    if claim.kind == "trend":
        if not claim.over:
            yield "over is missing: a trend runs over a numeric column"
        for key in against:
            yield (
                f"{key}={getattr(claim, key)} has no meaning for kind=trend; minus names the runs "
                "whose slope is subtracted"
            )
    else:
        yield from _problems_of_sides(claim, against, design)
    if claim.kind == "stability" and (claim.target is not None or claim.minus):
        yield "kind=stability compares the failed runs of two arms: remove target and minus"
    if claim.kind == "stability" and claim.margin >= 1:
        yield f"margin={claim.margin:g}, but two rates of failed runs differ by at most 1"
    if claim.kind == "exact":
        yield from _problems_of_exact(claim, design)
    elif claim.tolerance:
        yield f"tolerance={claim.tolerance:g} is only for kind=exact: use margin instead"


def _problems_of_sides(claim: Claim, against: list[str], design: Design) -> Iterator[str]:
    """Yield the reasons why a claim does not compare the treatment with a baseline or a target."""
    if claim.over:
        yield f"over={claim.over} has no meaning for kind={claim.kind}"
    if not against:
        yield "baseline is missing: give the arm to compare with, or a number as the target"
    if len(against) > 1:
        both = f"baseline={claim.baseline} and target={claim.target:g}"
        yield f"{both}: a claim can have only one of them"
    if claim.treatment is not None and claim.treatment == claim.baseline:
        yield f"treatment and baseline are both {claim.treatment}: choose two different arms"
    if claim.target is None and not design.arm:
        yield "arm is missing: name the column that says which arm a run belongs to"
    named = claim.treatment is not None and claim.baseline
    if claim.kind != "stability" and claim.minus and not named:
        yield "minus= compares two differences: name a treatment and a baseline too"


def _problems_of_exact(claim: Claim, design: Design) -> Iterator[str]:
    if claim.margin and claim.tolerance:
        yield (
            f"tolerance={claim.tolerance:g} and margin={claim.margin:g}: an exact claim has "
            "either a tolerance (values are equal) or a margin (values differ)"
        )
    if claim.minus:
        yield "kind=exact checks each run separately, so it has no minus: remove minus"
    if claim.target is None and not design.pair:
        yield (
            "pair is missing: kind=exact compares each run of the treatment with one of the "
            "baseline, so name the column that pairs them; kind=equivalence compares means"
        )


def number(key: str, value: Any, *, infinite: bool = False) -> float:
    """Return a value as a float.

    Args:
        key: key of the value, for the error message.
        value: the value.
        infinite: whether infinity is allowed.

    Raises:
        UserError: the value is not a number, or it is NaN, or infinite without being allowed.
    """
    try:
        parsed = float(value)
    except (TypeError, ValueError):
        parsed = math.nan
    if isinstance(value, bool) or math.isnan(parsed) or (math.isinf(parsed) and not infinite):
        raise UserError(f"{key}={value}: it must be a number")
    return parsed


def _positive(key: str, value: Any) -> float:
    if (parsed := number(key, value)) < 0:
        raise UserError(f"{key}={value}: it must be at least 0")
    return parsed


def _alpha(key: str, value: Any) -> float:
    if not 0 < (parsed := number(key, value)) < 0.5:
        raise UserError(f"{key}={value}: it must be a number between 0 and 0.5")
    return parsed


def _word(*words: str) -> Rule:
    def check(key: str, value: Any) -> str:
        if value not in words:
            raise UserError(f"{key}={value}: it must be {listed(list(words), 'or')}")
        return str(value)

    return check


def _list(value: Any) -> Any:
    return value if isinstance(value, list | tuple) else [value]


def _mapping(key: str, value: Any) -> dict[str, object]:
    if not isinstance(value, Mapping):
        raise UserError(
            f"{key}={value}: it must be a mapping from columns to values, such as {{seed: 1}}"
        )
    return {str(name): values for name, values in value.items()}


def _missing(key: str, value: Any) -> str | float:
    if value in (RATE, LEAVE_OUT, REFUSE):
        return str(value)
    try:
        return number(key, value)
    except UserError:
        words = f"{RATE}, {LEAVE_OUT}, {REFUSE} or a number"
        raise UserError(f"{key}={value}: it must be {words}") from None


def _noise(_: str, value: Any) -> Noise:
    given = value or {}
    if not isinstance(given, Mapping):
        raise UserError("noise must have the keys sd and source")
    check_keys("noise.", given, ("sd", "source", "df"))
    sd = given.get("sd")
    if sd is not None and (sd := number("noise.sd", sd)) <= 0:
        raise UserError(f"noise.sd={sd:g}: it must be above 0")
    if sd is not None and not given.get("source"):
        raise UserError("noise.source is missing: state where the standard deviation comes from")
    for key in ("source", "df"):
        if given.get(key) is not None and sd is None:
            raise UserError(f"noise.{key} describes noise.sd, which is missing: give both")
    if (df := number("noise.df", given.get("df", math.inf), infinite=True)) <= 0:
        raise UserError(f"noise.df={df:g}: it must be above 0")
    return Noise(sd, str(given.get("source", "")), df)


def _optional(rule: Rule) -> Rule:
    return lambda key, value: None if value is None else rule(key, value)


RULES: dict[str, Rule] = {
    "better": _word("lower", "higher"),
    "take": _word("last", "best"),
    "kind": _word(*KINDS),
    "test": _word(CORRECTED, TEXTBOOK),
    "scale": _word("linear", "log", "log_log"),
    "alpha": _alpha,
    "margin": _positive,
    "tolerance": _positive,
    "floor": _optional(number),
    "target": _optional(number),
    "reach": _optional(number),
    "plan_for": _optional(number),
    "missing": _missing,
    "noise": _noise,
    "arm": lambda _, value: tuple(map(str, _list(value))),
    **dict.fromkeys(("where", "failed", "minus"), _mapping),
    **dict.fromkeys(
        ("metric", "pair", "group", "run", "step", "by", "over", "id", "name"),
        lambda _, value: str(value),
    ),
}


def checked(given: Row) -> Row:
    """Return the values of a study as the types that they must have; a value without a rule is
    unchanged.

    Raises:
        UserError: a value is not allowed.
    """
    return {**given, **{key: RULES[key](key, given[key]) for key in RULES if key in given}}
