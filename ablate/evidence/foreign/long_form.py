"""From a row per run and step to a row per run."""

from typing import NamedTuple

import numpy as np

from ablate.evidence.foreign.table import EMPTY, Column, Numbers, Table


class Curves(NamedTuple):
    """The recorded values of a metric, ordered by run and step.

    Args:
        rows: places of the values in the table.
        runs: number of the run of each value.
        steps: the step of each value.
        values: the values; NaN and infinite ones were recorded so.
        first: by run its first row in the table.
    """

    rows: np.ndarray
    runs: np.ndarray
    steps: Numbers
    values: Numbers
    first: np.ndarray


def curves(table: Table, run: str, step: str, metric: str) -> Curves:
    """Return the curve of a metric of every run.

    Raises:
        UserError: there is no such column, or one of numbers holds a text.
    """
    runs, labels = table.column(run, "run").labels()
    steps, values = table.numbers(step, "step"), table.numbers(metric, "metric")
    first = np.full(len(labels), -1)
    first[runs[::-1]] = np.arange(len(runs))[::-1]
    recorded = np.flatnonzero(
        (runs >= 0) & (table.column(metric, "metric").codes != EMPTY) & np.isfinite(steps)
    )
    order = recorded[np.lexsort((steps[recorded], runs[recorded]))]
    return Curves(order, runs[order], steps[order], values[order], first)


def last_rows(curves: Curves) -> tuple[np.ndarray, Numbers]:
    """Return the row of each run's last value, and the value; NaN for a run without any."""
    return _pick(curves, np.flatnonzero(np.diff(curves.runs, append=-1)))


def best_rows(curves: Curves, by: Column, better: str) -> tuple[np.ndarray, Numbers]:
    """Return the row in which the column `by` is best for each run, and the metric there."""
    scores = by.numbers[curves.rows] * (1.0 if better == "lower" else -1.0)
    scores = np.where(np.isfinite(scores), scores, np.inf)
    order = np.lexsort((curves.steps, scores, curves.runs))
    starts = np.flatnonzero(np.diff(curves.runs[order], prepend=-1))
    return _pick(curves, order[starts])


def steps_to(curves: Curves, target: float, better: str) -> tuple[np.ndarray, Numbers, np.ndarray]:
    """Return by run a row, the step at which its curve first is at a target, and whether it is.

    Between two values the step is interpolated. A run that never gets there has its last step.
    """
    sign = 1.0 if better == "lower" else -1.0
    count = len(curves.first)
    found = np.full(count, np.nan)
    reached = np.zeros(count, dtype=bool)
    starts = np.flatnonzero(np.diff(curves.runs, prepend=-1))
    for start, end in zip(starts, [*starts[1:], len(curves.runs)], strict=True):
        values, steps = sign * curves.values[start:end], curves.steps[start:end]
        finite = np.isfinite(values)
        if not finite[-1]:  # it diverged, so that nobody knows
            continue
        below = np.flatnonzero(finite & (values <= sign * target))
        run = curves.runs[start]
        reached[run] = bool(len(below))
        found[run] = (
            _crossing(steps, values, int(below[0]), sign * target) if len(below) else steps[-1]
        )
    return curves.first, found, reached


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
