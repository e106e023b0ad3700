"""Reduce a table of runs to one row and one result per run, and note what a reader should know.

Names in cells are texts as they are written.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float

from ablate.errors import UserError, first_line, name_hint
from ablate.evidence.outcome import Reason, first_at, reason
from ablate.evidence.tables import Source
from ablate.referee.question import RATE, Question
from ablate.stats import above, at_most
from ablate.verdict.floor import PLATEAU

MISSING = frozenset(("", "na", "n/a", "nan", "null", "none", "-"))  # texts for a missing number
Numbers = Float[np.ndarray, " rows"]
Rows = Bool[np.ndarray, " rows"]
LARGEST = 1e150  # largest value of a metric, because its square must not overflow
# names of columns that tell that a row may be a step of a run
STEPS = ("step", "_step", "global_step", "iteration", "iter", "epoch")
# columns of W&B and MLflow, and their values for runs that did not finish normally
STATES = ("state", "status")
UNFINISHED = ("crashed", "failed", "killed", "preempted", "running", "scheduled", "unfinished")


def texts(frame: pd.DataFrame, column: str) -> pd.Series:
    """Return the cells of a column as names.

    Raises:
        UserError: the frame has no such column.
    """
    if column not in frame:
        raise UserError(f"the runs have no column {column}: {name_hint(column, [*frame.columns])}")
    return frame[column].astype(object).map(name_of)


def name_of(cell: Any) -> str:
    """Return a cell as a name: a text without spaces around it, or a number as Python writes it;
    "" for an empty cell.
    """
    if isinstance(cell, str):  # most cells; millions are fast
        return cell.strip()
    if cell is None or cell is pd.NA or (isinstance(cell, float) and math.isnan(cell)):
        return ""
    return str(cell).lower() if isinstance(cell, bool | np.bool_) else str(cell).strip()


def numbers(frame: pd.DataFrame, column: str) -> Numbers:
    """Return the numbers of a column, with NaN for an empty cell.

    Raises:
        UserError: the frame has no such column, or a cell is a text.
    """
    cells = texts(frame, column)
    try:
        return np.array([float("nan" if c.lower() in MISSING else c) for c in cells], np.float64)
    except ValueError as error:
        raise UserError(f"{column}: {first_line(error)}") from None


def number_of(text: str) -> float:
    """Return the number that a text means; NaN if it means none."""
    try:
        return math.nan if "_" in text else float(text)
    except ValueError:
        return math.nan


def matching_labels(labels: Iterable[str], value: Any) -> list[str]:
    """Return the labels that match a value that a user typed; [] if none matches.

    A text or a whole number matches the label with the same spelling. If there is no such label,
    and for every decimal number, all labels with the same numeric value match, such as "0012" for
    12.
    """
    labels, name = [*labels], name_of(value)
    if isinstance(value, bool):
        return [label for label in labels if label.lower() == name]
    if name in labels and not isinstance(value, float):
        return [name]
    return [label for label in labels if number_of(label) == number_of(name)]


def rows_with(
    frame: pd.DataFrame, levels: Mapping[str, object], key: str, *, required: bool = True
) -> Rows:
    """Return a mask of the rows that have given values.

    Args:
        frame: the rows.
        levels: for each column, a value or a list of allowed values.
        key: key of the question that has these values, for the message.
        required: whether a value that no row has is an error.

    Raises:
        UserError: there is no such column, or no row has a value.
    """
    rows = np.ones(len(frame), dtype=bool)
    for column, wanted in levels.items():
        cells = texts(frame, column)
        allowed = []
        for value in wanted if isinstance(wanted, list) else [wanted]:
            names = matching_labels(cells.unique(), value)
            if required and not names:
                raise UserError(f"{key}: no row has {column}={value}")
            allowed += names
        rows &= cells.isin(allowed).to_numpy()
    return rows


class Runs(NamedTuple):
    """The runs of a table: a row for each run, its result, and remarks for the verdict.

    The result of a run without a value is NaN: its value is missing or not finite, the question
    marks the run as failed, or the run learned nothing.
    """

    frame: pd.DataFrame
    results: Numbers
    notes: list[Reason]


def runs_of(source: Source, question: Question) -> Runs:
    """Return the runs of a source that a question is about.

    Raises:
        UserError: a column is missing or has a wrong value, or no run is left.
    """
    notes = [reason("table"), *(reason("source", text=note) for note in source.notes)]
    selected = source.frame[rows_with(source.frame, question.where, "where")]
    runs, results = _one_row_per_run(selected.reset_index(drop=True), question, notes)
    if not len(runs):
        raise UserError(f"{source.name}: no row is left to compare; check `where`, run and step")
    runs = runs.reset_index(drop=True)
    if len(source.frame) != len(runs):
        notes.append(reason("rows", rows=len(source.frame), runs=len(runs)))
    without = _failed(runs, results, question)
    if count := int(without.sum()):
        rated = question.missing == RATE
        rule = "their rates are compared, too" if rated else "they are left out"
        counts = {"runs": count, "of": len(runs)}
        notes.append(reason("missing", column=question.metric, rule=rule, **counts))
    notes += _of_columns(runs, without, question)
    if copies := int(runs.astype(str).duplicated().sum()):
        notes.append(reason("copies", rows=copies))
    results = np.where(without, math.nan, results)
    kept = ~without | (question.missing == RATE)
    return Runs(runs[kept].reset_index(drop=True), results[kept], notes)


def _failed(runs: pd.DataFrame, results: Numbers, question: Question) -> Rows:
    """Return a mask of the runs without a result."""
    failed = ~np.isfinite(results)
    for column, values in question.failed.items():
        failed |= rows_with(runs, {column: values}, "failed", required=False)
    if np.abs(results[~failed]).max(initial=0.0) > LARGEST:
        raise UserError(f"{question.metric}: values above {LARGEST:g} cannot be compared")
    if question.floor is None:
        return failed
    # the rule of ablate.verdict.floor, within each arm and dataset
    floor, sign = question.floor, -1.0 if question.is_lower_better else 1.0
    gains = pd.Series(np.where(failed, np.nan, sign * (results - floor)))
    columns = [*question.arm, *filter(None, [question.group])]
    arms = [texts(runs, column) for column in columns] or [pd.Series("", index=gains.index)]
    best = gains.groupby(arms).transform("max").clip(lower=0.0)
    learned = [
        above(gain, 0.0, abs(floor)) and at_most(PLATEAU * most, gain)
        for gain, most in zip(gains, best, strict=True)
    ]
    return failed | ~np.array(learned, dtype=bool)


def _of_columns(runs: pd.DataFrame, without: Rows, question: Question) -> Iterator[Reason]:
    """Yield remarks on columns: runs without a name, runs that did not finish, and rows that may be
    steps.
    """
    for column in filter(None, (*question.arm, question.group, question.pair)):
        if empty := int((texts(runs, column) == "").sum()):
            yield reason("no_label", empty=empty, runs=len(runs), column=column)
    for column in (name for name in runs if name.lower() in STATES):
        states = texts(runs, column)[~without]
        states = states[states.str.lower().isin(UNFINISHED)]
        if len(states):
            counts = {"runs": len(states), "of": len(runs)}
            yield reason("unfinished", column=column, states=sorted(states.unique()), **counts)
    if question.step or ("run" in runs and texts(runs, "run").is_unique):
        return
    for column in (name for name in STEPS if name in runs and name not in question.columns):
        if 2 * texts(runs, column).value_counts().max() < len(runs):
            yield reason("steps_as_runs", column=column)


def _one_row_per_run(
    frame: pd.DataFrame, question: Question, notes: list[Reason]
) -> tuple[pd.DataFrame, Numbers]:
    """Return a row for each run, and its result."""
    results = numbers(frame, question.metric)
    if not question.step:
        return frame, results
    runs = texts(frame, question.run)
    for column in filter(None, (*question.arm, question.group, question.pair)):
        _check_constant(runs, texts(frame, column), question.run)
    points = pd.DataFrame({"run": runs, "step": numbers(frame, question.step), "value": results})
    points["row"] = np.arange(len(points))
    points = points[points.run != ""]
    first = points.drop_duplicates("run").set_index("run")
    recorded = np.isfinite(points.step) & (texts(frame, question.metric)[points.index] != "")
    points = points[recorded].sort_values(["run", "step"], kind="stable")
    notes += _curve_remarks(points, question.metric)
    if question.reach is not None:
        values = _steps_to(points, question, notes)
        return frame.iloc[first.row], values.reindex(first.index).to_numpy(dtype=np.float64)
    if question.take == "best":
        points = _best_last(frame, points, question)
    chosen = points.drop_duplicates("run", keep="last").set_index("run")
    rows = chosen.row.reindex(first.index).fillna(first.row).astype(int)
    return frame.iloc[rows], chosen.value.reindex(first.index).to_numpy(dtype=np.float64)


def _check_constant(runs: pd.Series, names: pd.Series, run: str) -> None:
    """Raise UserError if two rows of a run have different names in a column: then several runs have
    one name, such as the same seed of two arms.
    """
    pairs = pd.DataFrame({"run": runs, "label": names})
    pairs = pairs[(pairs.run != "") & (pairs.label != "")].drop_duplicates()
    if (twice := pairs.run.duplicated()).any():
        raise UserError(
            f"run={run}: the rows of {pairs.run[twice].iloc[0]} have two values of {names.name}; "
            "name a column that has a different value for each run"
        )


def _curve_remarks(points: pd.DataFrame, metric: str) -> Iterator[Reason]:
    """Yield remarks on runs that ended before the longest run, and on steps with two rows."""
    ends = points.groupby("run").step.max()
    if early := int((ends < ends.max()).sum()):
        yield reason("ended_early", runs=early, of=len(ends), column=metric)
    if repeated := int(points.duplicated(["run", "step"]).sum()):
        yield reason("steps_repeated", rows=repeated)


def _best_last(frame: pd.DataFrame, points: pd.DataFrame, question: Question) -> pd.DataFrame:
    """Return the points of the curves, the best of each run last: the first of several that are
    equal. A row without a finite score has no value.
    """
    scores = numbers(frame, question.by or question.metric)[points.row]
    finite = np.isfinite(scores)
    if question.by and not finite.any():
        raise UserError(f"by={question.by}: no row has both {question.metric} and {question.by}")
    worse = np.where(finite, scores if question.better == "lower" else -scores, np.inf)
    ranked = points.assign(worse=worse, value=points.value.where(finite))
    return ranked.sort_values(["run", "worse", "step"], kind="stable").iloc[::-1]


def _steps_to(points: pd.DataFrame, question: Question, notes: list[Reason]) -> pd.Series:
    """Return the step at which each run first reaches the value `reach`, by interpolation.

    A run that does not reach the value gets its last step if no run has a later step. If the run
    ended earlier, or if its last value is not finite, its step is unknown, so it gets NaN.
    """
    sign, last = 1.0 if question.better == "lower" else -1.0, points.step.max()
    steps, missed = {}, 0
    for run, curve in points.groupby("run"):
        values = [sign * x if math.isfinite(x) else None for x in curve.value]
        reached = first_at(curve.step.tolist(), values, sign * (question.reach or 0.0))
        whole = curve.step.iloc[-1] == last
        missed += whole and values[-1] is not None and math.isinf(reached)
        steps[run] = reached if math.isfinite(reached) else last if whole else math.nan
        steps[run] = math.nan if values[-1] is None else steps[run]
    if missed:
        notes.append(reason("not_reached", runs=int(missed), value=question.reach))
    return pd.Series(steps, dtype=np.float64)
