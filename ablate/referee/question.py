"""Define the question about a table of runs: how to read the table, and claims about the runs."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, model_validator

from ablate.errors import UserError, first_line
from ablate.evidence.tables import Row

RATE = "rate"
Positive = Field(default=0.0, ge=0, allow_inf_nan=False)


def _need(condition: object, message: str) -> None:
    """Raise ValueError with a message unless a condition holds; pydantic reports it."""
    if not condition:
        raise ValueError(message)


class Strict(BaseModel):
    """A part of a question; an unknown key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Claim(Strict):
    """A claim about a table of runs.

    Args:
        id: name of the claim.
        kind: superiority | equivalence | non_inferiority | exact | stability | trend.
        treatment, baseline: arms, as a name or as values by column; without a treatment, every arm
            except the baseline is compared with it.
        target: a number that the treatment's mean is compared with, instead of a baseline.
        margin: smallest difference that matters, in units of the metric; 0 if none is given.
        tolerance: for an exact claim, the largest difference that counts as equal.
        margin_reason, statement, source: texts for readers: why the margin was chosen, the claim as
            a sentence, and where the claim comes from.
        where: rows that the claim is about: for each column, the value of these rows.
        minus: values by column that replace the values of `where` in a second difference, which is
            subtracted from the first.
        over, scale: for a trend, the numeric column, and linear | log | log_log.
        plan_for: true effect for which the number of runs is planned.
        alpha: significance level; by default, that of the design.
    """

    id: str = "claim"
    kind: Literal[
        "superiority", "equivalence", "non_inferiority", "exact", "stability", "trend"
    ] = "superiority"
    treatment: Any = None
    baseline: Any = None
    target: float | None = Field(default=None, allow_inf_nan=False)
    margin: float = Positive
    tolerance: float = Positive
    margin_reason: str = ""
    statement: str = ""
    source: str = ""
    where: Row = {}
    minus: Row = {}
    over: str = ""
    scale: Literal["linear", "log", "log_log"] = "linear"
    plan_for: float | None = None
    alpha: float | None = Field(default=None, gt=0, lt=0.5)

    @model_validator(mode="after")
    def _fits(self) -> "Claim":
        """Check that a statistical rule can decide the claim."""
        against = (self.baseline is not None) + (self.target is not None)
        if self.kind == "trend":
            alone = self.over and not (against or self.minus)
            _need(alone, "a trend has a column `over`, and neither a baseline nor minus")
        else:
            _need(against == 1, "give either a baseline, or a number as the target")
            sides = self.treatment is not None and self.baseline is not None
            _need(not self.minus or sides, "minus needs a treatment and a baseline")
        if self.kind in ("equivalence", "non_inferiority"):
            _need(self.margin, f"{self.kind} needs a margin")
        two = self.target is None and not self.minus
        _need(self.kind != "stability" or two, "stability compares the failed runs of two arms")
        either = not (self.margin and self.tolerance) and not self.minus
        _need(self.kind != "exact" or either, "an exact claim has a tolerance or a margin")
        _need(self.kind == "exact" or not self.tolerance, "tolerance is only for kind=exact")
        return self

    @property
    def applies_to_all_levels(self) -> bool:
        """Whether the claim names only a baseline, so that it can be asked about every level."""
        other = self.treatment, self.target, self.where, self.minus
        return self.kind not in ("exact", "trend") and not any(other)


class Question(Strict):
    """A question about a table of runs: how the table is read, and the claims.

    Args:
        metric: column with the result of a run.
        better: lower | higher.
        arm: columns that name the arm of a run; none: all runs are one arm.
        pair: column that pairs runs of different arms, such as the seed.
        group: column of datasets or tasks, each of which gets a verdict of its own.
        run, step: columns with the run and the step of a row, if a run has many rows.
        take: last | best: the row from which the result of a run is taken.
        by: column by which the best row is chosen, in the direction of `better`; default: the
            metric.
        reach: a value of the metric; the steps until a run reaches it are compared.
        where: rows that are selected: for each column, the values that a row may have.
        failed: values by column that mark a failed run.
        floor: metric of a model that has learned nothing. A run fails if its metric is not better
            than this value, or if its gain over it is less than half of the best gain in its arm.
        missing: rate | leave_out: whether the rates of runs without a result are compared, too.
        test: corrected | textbook: whether the t test is corrected for skewness; by default, only
            for pairs, as for the seeds of a sweep.
        alpha: significance level.
        design: combinations: each column of `arm` is a factor, whose levels the runs take at
            random; the claims are about every level against the first one.
        name: name of the study.
        claims: the claims.
    """

    metric: str
    better: Literal["lower", "higher"]
    arm: tuple[str, ...] = ()
    pair: str = ""
    group: str = ""
    run: str = ""
    step: str = ""
    take: Literal["last", "best"] = "last"
    by: str = ""
    reach: float | None = Field(default=None, allow_inf_nan=False)
    where: Row = {}
    failed: Row = {}
    floor: float | None = Field(default=None, allow_inf_nan=False)
    missing: Literal["rate", "leave_out"] = "rate"
    test: Literal["", "corrected", "textbook"] = ""
    alpha: float = Field(default=0.05, gt=0, lt=0.5)
    design: Literal["", "combinations"] = ""
    name: str = "comparison"
    claims: tuple[Claim, ...] = ()

    @model_validator(mode="after")
    def _fits(self) -> "Question":
        """Check that the settings of the table do not exclude each other."""
        _need(bool(self.run) == bool(self.step), "run and step belong together")
        long = self.take != "last" or self.by or self.reach is not None
        _need(self.step or not long, "take, by and reach need the columns run and step")
        _need(self.take == "best" or not self.by, "by chooses the best row: give take=best")
        steps = self.reach is None or (self.floor is None and self.take == "last")
        _need(steps, "reach compares steps: it goes with neither floor nor take=best")
        plain = not (self.pair or self.group)
        _need(plain or not self.design, "design=combinations has no pair or group")
        repeatable = all(claim.applies_to_all_levels for claim in self.claims)
        _need(repeatable or not self.design, "design=combinations compares levels")
        return self

    @property
    def columns(self) -> list[str]:
        """The names of all columns that the question needs."""
        named = [*self.arm, self.metric, self.pair, self.group, self.run, self.step, self.by]
        named += [*self.where, *self.failed, *self.level_columns, *(x.over for x in self.claims)]
        return [name for name in dict.fromkeys(named) if name]

    @property
    def level_columns(self) -> list[str]:
        """The names of the columns by whose values claims select runs."""
        levels = [
            part
            for claim in self.claims
            for part in (claim.where, claim.minus, claim.treatment, claim.baseline)
        ]
        return [column for part in levels if isinstance(part, Mapping) for column in part]

    @property
    def measured(self) -> str:
        """The name of the result of a run."""
        return self.metric if self.reach is None else f"steps to {self.metric} {self.reach:g}"

    @property
    def is_lower_better(self) -> bool:
        """Whether a lower result is better; fewer steps to reach a value are always better."""
        return self.better == "lower" or self.reach is not None


def question_of(given: Mapping[str, object]) -> Question:
    """Return the question about a table of runs, from a mapping with the keys of a study file.

    The fields of a single claim may be written beside those of the table, without a list of claims.
    `where` then selects the rows of the whole table, unless `minus` needs the other rows, too.

    Raises:
        ValidationError: a key is unknown or missing, or its value is not allowed.
    """
    values: Row = dict(given)
    if isinstance(values.get("arm"), str):
        values["arm"] = (values["arm"],)
    if values.get("design") and "claims" not in values:
        values.setdefault("baseline", {})
    of_table = {*Question.model_fields} - ({"where"} if values.get("minus") else set())
    of_claim = [key for key in Claim.model_fields if key in values and key not in of_table]
    if "claims" not in values and of_claim:
        values["claims"] = [{key: values.pop(key) for key in of_claim}]
    elif isinstance(values.get("claims"), list):
        values["claims"] = [
            {"id": f"claim {number}", **claim} for number, claim in enumerate(values["claims"], 1)
        ]
    return Question(**values)


def read_question(path: Path) -> Question:
    """Return the question about a table of runs that a study file (YAML) states.

    Raises:
        UserError: the file is missing, or it is no mapping.
        YAMLError, ValidationError: the file is malformed, or a value is not allowed.
    """
    try:
        given = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(f"{path} cannot be read: {first_line(error)}") from None
    if not isinstance(given, dict):
        raise UserError(f"{path}: it must be a mapping with keys such as metric and claims")
    return question_of({"name": path.stem, **given})
