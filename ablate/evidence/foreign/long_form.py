"""Reduce a table with a row per run and step to a row per run."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from ablate.errors import UserError
from ablate.evidence.foreign.table import EMPTY, Numbers, Table


class Curves(NamedTuple):
    """The recorded values of one metric in all runs, ordered by run and step.

    Args:
        rows: row number of each value in the table.
        runs: index of the run of each value.
        steps: step of each value.
        values: the recorded values, which may be NaN or infinite.
        first: for each run, its first row in the table.
    """

    rows: np.ndarray
    runs: np.ndarray
    steps: Numbers
    values: Numbers
    first: np.ndarray


def curves(table: Table, run: str, step: str, metric: str) -> Curves:
    """Return the recorded values of a metric in all runs, ordered by run and step.

    Args:
        table: a table with a row per run and step.
        run: name of the column that identifies the run.
        step: name of the column with the step.
        metric: name of the column with the metric.

    Raises:
        UserError: the table has no such column, or a cell of `step` or `metric` is a text.
    """
    runs, labels = table.column(run, "run").labels()
    steps, values = table.numbers(step, "step"), table.numbers(metric, "metric")
    named = np.flatnonzero(runs >= 0)[::-1]
    first = np.full(len(labels), -1)
    first[runs[named]] = named  # the earliest row is written last
    recorded = np.flatnonzero(
        (runs >= 0) & (table.column(metric, "metric").codes != EMPTY) & np.isfinite(steps)
    )
    order = recorded[np.lexsort((steps[recorded], runs[recorded]))]
    return Curves(order, runs[order], steps[order], values[order], first)


def check_runs(table: Table, run: str, names: Iterable[str]) -> None:
    """Raise UserError if two rows of a run have different values in one of the columns `names`.

    Such a run is several runs under a single name, such as the same seed of two arms.

    Args:
        table: a table with a row per run and step.
        run: name of the column that identifies the run.
        names: columns that must be constant within a run, such as the arm.
    """
    runs, run_labels = table.column(run, "run").labels()
    for name in names:
        places, labels = table.column(name, "run").labels()
        named = np.flatnonzero((runs >= 0) & (places >= 0))
        last = np.full(len(run_labels), -1)
        last[runs[named]] = places[named]
        wrong = named[places[named] != last[runs[named]]]
        if len(wrong):
            row = wrong[0]
            raise UserError(
                f"run={run}: rows with {run}={run_labels[runs[row]]} have two values of {name} "
                f"({labels[places[row]]} and {labels[last[runs[row]]]}); name a column that has a "
                "different value for each run"
            )


def ended_early(curves: Curves) -> int:
    """Return the number of runs whose last recorded step is before that of the longest run."""
    ends = curves.steps[np.flatnonzero(np.diff(curves.runs, append=-1))]
    return int((ends < ends.max(initial=-np.inf)).sum())


def repeated_steps(curves: Curves) -> int:
    """Return the number of recorded values that have the run and the step of another value."""
    return int(((np.diff(curves.runs) == 0) & (np.diff(curves.steps) == 0)).sum())


def last_rows(curves: Curves) -> tuple[np.ndarray, Numbers]:
    """Return two arrays with an entry per run: the row number and the value of the metric at the
    run's last recorded step.

    A run without a recorded value gets its first row and NaN.
    """
    return _pick(curves, np.flatnonzero(np.diff(curves.runs, append=-1)))


def best_rows(
    curves: Curves, by: Float[np.ndarray, " cells"], better: str
) -> tuple[np.ndarray, Numbers]:
    """Return two arrays with an entry per run: the number of the row in which the column `by` is
    best, and the metric in this row.

    The metric is NaN if no row of the run has the metric and a finite value of `by`.

    Args:
        curves: the curves of the metric.
        by: for each row of the table, the value by which the row is chosen, such as a validation
            score.
        better: "lower" or "higher", the better direction of `by`.
    """
    scores = by[curves.rows] * (1.0 if better == "lower" else -1.0)
    scores = np.where(np.isfinite(scores), scores, np.inf)
    order = np.lexsort((curves.steps, scores, curves.runs))
    starts = np.flatnonzero(np.diff(curves.runs[order], prepend=-1))
    rows, values = _pick(curves, order[starts])
    values[np.isfinite(values) & ~np.isfinite(by[rows])] = np.nan
    return rows, values


def steps_to(curves: Curves, target: float, better: str) -> tuple[np.ndarray, Numbers, np.ndarray]:
    """Return for each run the step at which its curve first reaches a target value.

    Between two values the step is interpolated. A run that does not reach the target gets its last
    step if no run has a later step. If the run ended earlier, its step is unknown, so it gets NaN,
    as does a run without a value, or whose last value is not finite.

    Returns:
        three arrays with an entry per run: the run's first row, the step, and whether the run
            reaches the target.
    """
    sign = 1.0 if better == "lower" else -1.0
    count = len(curves.first)
    steps_by_run = np.full(count, np.nan)
    reached = np.zeros(count, dtype=bool)
    starts = np.flatnonzero(np.diff(curves.runs, prepend=-1))
    for start, end in zip(starts, [*starts[1:], len(curves.runs)], strict=True):
        values, steps = sign * curves.values[start:end], curves.steps[start:end]
        finite = np.isfinite(values)
        if not finite[-1]:  # it diverged, so the step is unknown
            continue
        below = np.flatnonzero(finite & (values <= sign * target))
        run = curves.runs[start]
        reached[run] = bool(len(below))
        if reached[run]:
            steps_by_run[run] = _crossing(steps, values, int(below[0]), sign * target)
        elif steps[-1] == curves.steps.max():
            steps_by_run[run] = steps[-1]
    return curves.first, steps_by_run, reached


def _crossing(steps: Numbers, values: Numbers, place: int, target: float) -> float:
    if place == 0 or not np.isfinite(values[place - 1]):
        return float(steps[place])
    share = (values[place - 1] - target) / (values[place - 1] - values[place])
    return float(steps[place - 1] + (steps[place] - steps[place - 1]) * share)


def _pick(curves: Curves, places: np.ndarray) -> tuple[np.ndarray, Numbers]:
    rows, values = curves.first.copy(), np.full(len(curves.first), np.nan)
    rows[curves.runs[places]] = curves.rows[places]
    values[curves.runs[places]] = curves.values[places]
    return rows, values
