"""The question that is put to a table: its design and its claims, checked before any work."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ablate.errors import UserError
from ablate.evidence.foreign.reading import read_yaml
from ablate.evidence.foreign.table import Row, label_of, meant
from ablate.phrases import listed
from ablate.verdict.kind import KINDS

RATE, LEAVE_OUT, REFUSE = "rate", "leave_out", "refuse"
CORRECTED, TEXTBOOK = "corrected", "textbook"
FEW = 4  # runs of an arm whose noise is borrowed
DESIGN = (
    *("arm", "metric", "better", "pair", "group", "run", "step", "take", "by", "reach"),
    *("started", "where", "failed", "floor", "missing", "noise", "test", "alpha", "name"),
)
CLAIM = (
    *("id", "statement", "source", "kind", "treatment", "baseline", "target", "margin"),
    *("margin_reason", "tolerance", "where", "minus", "over", "scale", "plan_for", "alpha"),
)


@dataclass(frozen=True)
class Noise:
    """Noise that is not measured on the arms themselves.

    Args:
        sd: a stated standard deviation of runs of one arm; None where it is borrowed.
        source: where the stated one comes from.
        df: degrees of freedom of the stated one; infinite where it is taken as exact.
        arms: arms whose pooled standard deviation is borrowed for arms of few runs.
    """

    sd: float | None = None
    source: str = ""
    df: float = math.inf
    arms: tuple[str, ...] = ()


@dataclass(frozen=True)
class Design:
    """How a table is read.

    Args:
        metric: the column with the result of a run.
        better: lower | higher.
        arm: columns that say which arm a run belongs to; none: all runs are one arm.
        pair: the column that pairs runs of different arms, such as the seed.
        group: the column of datasets or tasks, each of which gets a verdict of its own.
        run, step: columns that identify the run and the step of a row, where a run has many rows.
        take: last | best, the row of a run that counts.
        by: the column by which the best row is chosen; without it the metric.
        reach: a value of the metric: then the steps until it is reached are compared.
        started: the column with the time at which a run was started.
        where: the rows that count, by column a value or several.
        failed: values by column that mark a failed run.
        floor: the metric of a model that has learned nothing. A run that is not better, or that
            gained less than half of what the best run of its arm gained, failed.
        missing: rate | leave_out | refuse, or the value that stands for a run without one.
        noise: noise that is stated or borrowed.
        test: corrected | textbook, whether t is corrected for skewness.
        alpha: of the two-sided intervals, and shared by all claims.
        name: of the study.
    """

    metric: str
    better: str
    arm: tuple[str, ...] = ()
    pair: str = ""
    group: str = ""
    run: str = ""
    step: str = ""
    take: str = "last"
    by: str = ""
    reach: float | None = None
    started: str = ""
    where: Mapping[str, object] = field(default_factory=dict)
    failed: Mapping[str, object] = field(default_factory=dict)
    floor: float | None = None
    missing: str | float = RATE
    noise: Noise = Noise()
    test: str = CORRECTED
    alpha: float = 0.05
    name: str = "comparison"

    @property
    def lower(self) -> bool:
        """Whether a lower number is better, as fewer steps to a target always are."""
        return self.better == "lower" or self.reach is not None

    @property
    def sign(self) -> float:
        """-1 where a lower number is better, else 1."""
        return -1.0 if self.lower else 1.0

    @property
    def columns(self) -> list[str]:
        """Names of all columns that the design needs."""
        named = [*self.arm, self.metric, self.pair, self.group, self.run, self.step, self.by]
        named += [self.started, *self.where, *self.failed]
        return [name for name in dict.fromkeys(named) if name]


@dataclass(frozen=True)
class Claim:
    """One claim about a table.

    Args:
        id: its name.
        kind: superiority | equivalence | non_inferiority | exact | stability | trend.
        treatment, baseline: arms, as a label or as values by column; None: every arm in turn.
        target: the number that the treatment's mean is compared with, in place of a baseline.
        margin: the smallest difference that matters, in units of the metric; 0 where none is named.
        tolerance: of an exact claim, the largest difference that counts as none.
        where: rows that the claim is about.
        minus: values that replace those of `where` in a second difference, which is subtracted.
        over: the numeric column of a trend.
        scale: linear | log | log_log, of a trend.
    """

    id: str = ""
    kind: str = "superiority"
    treatment: Any = None
    baseline: Any = None
    target: float | None = None
    margin: float = 0.0
    tolerance: float = 0.0
    margin_reason: str = ""
    statement: str = ""
    source: str = ""
    where: Mapping[str, object] = field(default_factory=dict)
    minus: Mapping[str, object] = field(default_factory=dict)
    over: str = ""
    scale: str = "linear"
    plan_for: float | None = None
    alpha: float = 0.05

    def rule(self) -> dict[str, object]:
        """Return what a kind of claim asks of a claim."""
        keys = ("kind", "margin", "alpha", "over", "scale", "plan_for")
        return {key: getattr(self, key) for key in keys}

    @property
    def columns(self) -> list[str]:
        """Names of the columns that the claim needs."""
        arms = [arm for arm in (self.treatment, self.baseline) if isinstance(arm, Mapping)]
        levels = [*self.where, *self.minus, *(name for arm in arms for name in arm)]
        return levels + ([self.over] if self.over else [])


@dataclass(frozen=True)
class Question:
    """A design with its claims; `given` is what the user wrote."""

    design: Design
    claims: tuple[Claim, ...]
    given: Mapping[str, object]

    @property
    def columns(self) -> list[str]:
        """Names of all columns that are needed."""
        named = [*self.design.columns, *(name for claim in self.claims for name in claim.columns)]
        return list(dict.fromkeys(named))


def read_question(path: Path) -> Question:
    """Return the question of a YAML file.

    Raises:
        UserError: it is missing or malformed, or asks what nothing could answer.
    """
    given = read_yaml(path)
    if not isinstance(given, dict):
        raise UserError(f"{path} holds no study: it has keys such as arm, metric and claims")
    try:
        return question({"name": path.stem, **given})
    except UserError as error:
        raise UserError(f"{path}: {error}") from None


def question(given: Mapping[str, object]) -> Question:
    """Return the question that plain data states; a single claim may stand beside the design.

    Raises:
        UserError: a key is unknown or missing, or its value is not allowed.
    """
    alone = {key: value for key, value in given.items() if key in CLAIM and key != "alpha"}
    claims = given.get("claims")
    _check_keys("", {**given, "claims": None}, (*DESIGN, *CLAIM, "claims"))
    if claims is not None and alone.keys() - {"statement", "source"}:
        raise UserError(f"{next(iter(alone))} stands beside claims: move it into one of them")
    if claims is not None and not (isinstance(claims, list) and claims):
        raise UserError("claims must be a list of at least one claim")
    design = _design({key: value for key, value in given.items() if key in DESIGN})
    made = [_claim(number, one, design) for number, one in enumerate(claims or [alone], 1)]
    ids = [claim.id for claim in made]
    if twice := next((one for one in ids if ids.count(one) > 1), ""):
        raise UserError(f"claims: two of them have the id {twice}")
    return Question(design, tuple(made), dict(given))


def _check_keys(place: str, given: Mapping[str, object], allowed: Sequence[str]) -> None:
    for key in given:
        if key not in allowed:
            raise UserError(f"unknown key {place}{key}: {meant(str(key), allowed)}")


def _design(given: Row) -> Design:
    for key in ("metric", "better"):
        if not given.get(key):
            raise UserError(f"{key} is missing: {WANTED[key]}")
    if "arm" in given:
        arm = given["arm"]
        given["arm"] = tuple(map(str, arm)) if isinstance(arm, list | tuple) else (str(arm),)
    given["noise"] = _noise(given.get("noise") or {})
    for key, rule in RULES.items():
        if key in given:
            given[key] = rule(key, given[key])
    design = Design(**given)
    _check_design(design)
    return design


def _check_design(design: Design) -> None:
    """Raise UserError for keys that do not go together."""
    if bool(design.run) != bool(design.step):
        raise UserError("run and step belong together: name the columns of both, or of none")
    if design.floor is not None and design.missing not in (RATE, LEAVE_OUT):
        raise UserError(f"floor={design.floor:g} needs missing={RATE} or missing={LEAVE_OUT}")
    if design.floor is not None and design.reach is not None:
        raise UserError(
            "floor and reach do not go together: a run that learns nothing never gets there"
        )
    for key in ("by", "reach"):
        if getattr(design, key) not in ("", None) and not design.step:
            raise UserError(f"{key} needs the columns run and step, in which a run has many rows")


def _claim(number: int, given: Any, design: Design) -> Claim:
    if not isinstance(given, Mapping):
        raise UserError(f"claims, number {number}: it is no claim but {given!r}")
    place = f"claims, {given.get('id', f'number {number}')}: "
    _check_keys(place, given, CLAIM)
    values = {"id": f"claim {number}", "alpha": design.alpha, **given}
    try:
        for key, rule in RULES.items():
            if key in values:
                values[key] = rule(key, values[key])
        claim = Claim(**values)
        _check_together(claim, design)
    except UserError as error:
        raise UserError(f"{place if 'id' in given else ''}{error}") from None
    return claim


def _check_together(claim: Claim, design: Design) -> None:
    """Raise UserError for a claim that no rule could decide."""
    against = [key for key in ("baseline", "target") if getattr(claim, key) is not None]
    if KINDS[claim.kind].needs_margin and not claim.margin:
        raise UserError(f"margin is missing: {claim.kind} needs the smallest loss that matters")
    if claim.kind == "trend":
        _check_trend(claim, against)
    elif claim.over:
        raise UserError(f"over={claim.over} has no meaning for kind={claim.kind}")
    elif not against:
        raise UserError("baseline is missing: name an arm, or a target such as baseline: 3.28")
    elif len(against) > 1:
        raise UserError("a claim has a baseline or a target, not both")
    elif claim.treatment is not None and claim.treatment == claim.baseline:
        raise UserError(f"treatment and baseline are both {claim.treatment}")
    elif claim.target is None and not design.arm:
        raise UserError("arm is missing: name the column that says which arm a run belongs to")
    if claim.kind == "stability" and (claim.target is not None or claim.minus):
        raise UserError("stability compares the failed runs of two arms")
    if claim.minus and claim.kind != "trend" and (claim.treatment is None or not claim.baseline):
        raise UserError("minus needs a treatment and a baseline: it subtracts another difference")
    _check_exact(claim, design)


def _check_trend(claim: Claim, against: Sequence[str]) -> None:
    if not claim.over:
        raise UserError("over is missing: a trend runs over a numeric column")
    for key in against:
        raise UserError(
            f"{key}={getattr(claim, key)} has no meaning for kind=trend; minus names the runs "
            "whose slope is subtracted"
        )


def _check_exact(claim: Claim, design: Design) -> None:
    if claim.kind != "exact":
        if claim.tolerance:
            raise UserError(
                f"tolerance={claim.tolerance:g} is for kind=exact; others have a margin"
            )
    elif claim.margin and claim.tolerance:
        raise UserError("an exact claim has a tolerance, to be equal, or a margin, to differ")
    elif claim.minus:
        raise UserError("kind=exact looks at each run, and has no minus")
    elif claim.target is None and not design.pair:
        raise UserError(
            "pair is missing: kind=exact compares each run of the treatment with one of the "
            "baseline, so name the column that pairs them; kind=equivalence compares means"
        )


def _noise(given: Any) -> Noise:
    if not isinstance(given, Mapping):
        raise UserError("noise must have the keys sd and source, or arms")
    _check_keys("noise.", given, ("sd", "source", "df", "arms"))
    sd, arms = given.get("sd"), given.get("arms") or ()
    if sd is not None and (sd := _number("noise.sd", sd)) <= 0:
        raise UserError(f"noise.sd={sd:g}: a standard deviation is above 0")
    if sd is not None and not given.get("source"):
        raise UserError("noise.source is missing: say where the standard deviation comes from")
    if sd is not None and arms:
        raise UserError("noise has an sd or arms, not both")
    df = _number("noise.df", given.get("df", math.inf), infinite=True)
    named = tuple(map(label_of, arms if isinstance(arms, list | tuple) else [arms]))
    return Noise(sd, str(given.get("source", "")), df, named)


def _number(key: str, value: Any, *, infinite: bool = False) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if isinstance(value, bool) or math.isnan(number) or (math.isinf(number) and not infinite):
        raise UserError(f"{key}={value}: it must be a number")
    return number


def _positive(key: str, value: Any) -> float:
    if (number := _number(key, value)) < 0:
        raise UserError(f"{key}={value}: it must be at least 0")
    return number


def _alpha(key: str, value: Any) -> float:
    if not 0 < (number := _number(key, value)) < 0.5:
        raise UserError(f"{key}={value}: it must be a number between 0 and 0.5")
    return number


def _word(*words: str) -> Callable[[str, Any], str]:
    def check(key: str, value: Any) -> str:
        if value not in words:
            raise UserError(f"{key}={value}: it must be {listed(list(words), 'or')}")
        return str(value)

    return check


def _mapping(key: str, value: Any) -> dict[str, object]:
    if not isinstance(value, Mapping):
        raise UserError(f"{key}={value}: it must give values by column")
    return {str(name): one for name, one in value.items()}


def _missing(key: str, value: Any) -> str | float:
    if value in (RATE, LEAVE_OUT, REFUSE):
        return str(value)
    try:
        return _number(key, value)
    except UserError:
        words = f"{RATE}, {LEAVE_OUT}, {REFUSE} or a number"
        raise UserError(f"{key}={value}: it must be {words}") from None


def _optional(rule: Callable[[str, Any], Any]) -> Callable[[str, Any], Any]:
    return lambda key, value: None if value is None else rule(key, value)


WANTED = {
    "metric": "name the column with the result of a run",
    "better": "say whether a lower or a higher metric is better",
}
RULES: dict[str, Callable[[str, Any], Any]] = {
    "better": _word("lower", "higher"),
    "take": _word("last", "best"),
    "kind": _word(*KINDS),
    "test": _word(CORRECTED, TEXTBOOK),
    "scale": _word("linear", "log", "log_log"),
    "alpha": _alpha,
    "margin": _positive,
    "tolerance": _positive,
    "floor": _optional(_number),
    "target": _optional(_number),
    "reach": _optional(_number),
    "plan_for": _optional(_number),
    "missing": _missing,
    **dict.fromkeys(("where", "failed", "minus"), _mapping),
    **dict.fromkeys(
        ("metric", "pair", "group", "run", "step", "by", "started", "over", "id", "name"),
        lambda _, value: str(value),
    ),
}
