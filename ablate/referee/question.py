"""Define the question about a table of runs: how to read the table, and claims about the runs."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

RATE, LEAVE_OUT, REFUSE = "rate", "leave_out", "refuse"
CORRECTED, TEXTBOOK = "corrected", "textbook"


@dataclass(frozen=True)
class Noise:
    """Run-to-run variation that is stated by the user.

    Args:
        sd: standard deviation of the runs of an arm; None if it is measured.
        source: where the stated value comes from.
        df: degrees of freedom of the stated value; infinite if it is exact.
    """

    sd: float | None = None
    source: str = ""
    df: float = math.inf


@dataclass(frozen=True)
class Design:
    """How a table of runs is read.

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
        missing: rate | leave_out | refuse, or the value for a run without a result.
        noise: run-to-run variation, if it is stated.
        test: corrected | textbook: whether the t test is corrected for skewness; "" means: only for
            pairs, as for the seeds of a sweep.
        alpha: 1 minus the level of the two-sided intervals; all claims share it.
        name: name of the study.
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
    where: Mapping[str, object] = field(default_factory=dict)
    failed: Mapping[str, object] = field(default_factory=dict)
    floor: float | None = None
    missing: str | float = RATE
    noise: Noise = Noise()
    test: str = ""
    alpha: float = 0.05
    name: str = "comparison"

    @property
    def lower(self) -> bool:
        """Whether a lower number is better; fewer steps to reach a target are always better."""
        return self.better == "lower" or self.reach is not None

    @property
    def sign(self) -> float:
        """-1 if a lower number is better, else 1."""
        return -1.0 if self.lower else 1.0

    @property
    def corrects(self) -> bool:
        """Whether the t test is corrected for skewness."""
        return self.test == CORRECTED if self.test else bool(self.pair)

    @property
    def columns(self) -> list[str]:
        """The names of all columns that the design needs."""
        named = [*self.arm, self.metric, self.pair, self.group, self.run, self.step, self.by]
        named += [*self.where, *self.failed]
        return [name for name in dict.fromkeys(named) if name]

    @property
    def names(self) -> list[str]:
        """The columns of names, such as arms and seeds, whose cells are texts as written."""
        named = [*self.arm, self.pair, self.group, self.run]
        return [*filter(None, named), *_texts(self.where), *_texts(self.failed)]


def _texts(levels: object) -> list[str]:
    """Return the columns for which a mapping from columns to values has a text; [] for another
    object.
    """
    if not isinstance(levels, Mapping):
        return []
    lists = {name: x if isinstance(x, list) else [x] for name, x in levels.items()}
    return [name for name, values in lists.items() if any(isinstance(x, str) for x in values)]


@dataclass(frozen=True)
class Claim:
    """A claim about a table of runs.

    Args:
        id: name of the claim.
        kind: superiority | equivalence | non_inferiority | exact | stability | trend.
        treatment, baseline: arms, as a label or as values by column; without a treatment, every
            arm except the baseline is compared with it.
        target: a number that the treatment's mean is compared with, instead of a baseline.
        margin: smallest difference that matters, in units of the metric; 0 if none is given.
        tolerance: for an exact claim, the largest difference that counts as equal.
        margin_reason, statement, source: texts for readers: why the margin was chosen, the claim as
            a sentence, and where the claim comes from.
        where: rows that the claim is about: for each column, the value (or values) of these rows.
        minus: values by column that replace the values of `where` in a second difference, which is
            subtracted from the first.
        over: for a trend, the numeric column.
        scale: for a trend, linear | log | log_log.
        plan_for: true effect for which the number of runs is planned; None for the default of the
            kind.
        alpha: 1 minus the level of the two-sided interval.
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

    def rule(self) -> Any:
        """Return the fields of the claim that its decision rule needs, by name: kind, margin,
        alpha, over, scale and plan_for.
        """
        keys = ("kind", "margin", "alpha", "over", "scale", "plan_for")
        return {key: getattr(self, key) for key in keys}

    @property
    def columns(self) -> list[str]:
        """The names of the columns of the table that the claim uses to select runs and values."""
        arms = [arm for arm in (self.treatment, self.baseline) if isinstance(arm, Mapping)]
        levels = [*self.where, *self.minus, *(name for arm in arms for name in arm)]
        return levels + ([self.over] if self.over else [])


DESIGN = tuple(field.name for field in fields(Design))
CLAIM = tuple(field.name for field in fields(Claim))


@dataclass(frozen=True)
class Question:
    """A question about a table of runs: how to read the table, and the claims."""

    design: Design
    claims: tuple[Claim, ...]

    @property
    def columns(self) -> list[str]:
        """The names of all columns that the question needs."""
        named = [*self.design.columns, *(name for claim in self.claims for name in claim.columns)]
        return list(dict.fromkeys(named))

    @property
    def names(self) -> list[str]:
        """The columns of names, such as arms and seeds, whose cells are texts as written."""
        levels = [
            part
            for claim in self.claims
            for part in (claim.where, claim.minus, claim.treatment, claim.baseline)
        ]
        of_claims = (name for part in levels for name in _texts(part))
        return list(dict.fromkeys([*self.design.names, *of_claims]))
