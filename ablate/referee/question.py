"""The question that is put to a table: its design and its claims."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

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
        test: corrected | textbook, whether t is corrected for skewness; "": it is corrected for
            pairs, as for the seeds of a sweep, and for nothing else.
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
    test: str = ""
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
    def corrects(self) -> bool:
        """Whether t is corrected for skewness."""
        return self.test == CORRECTED if self.test else bool(self.pair)

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
