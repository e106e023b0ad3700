"""Reduce a table of runs to one value per run, and select the runs of the arms of a claim.

The runs were not made by this package.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from ablate.errors import UserError
from ablate.evidence.foreign.long_form import (
    best_rows,
    check_runs,
    curves,
    ended_early,
    last_rows,
    repeated_steps,
    steps_to,
)
from ablate.evidence.foreign.table import (
    Numbers,
    Row,
    Rows,
    Table,
    labels_meant,
    meant,
    name_of_cell,
)
from ablate.phrases import listed
from ablate.referee.question import LEAVE_OUT, RATE, REFUSE, Claim, Design
from ablate.stats.means import variance_of
from ablate.stats.ties import above, at_most
from ablate.verdict.floor import PLATEAU

LARGEST = 1e150  # largest value of a metric, because its square must not overflow
ALL_RUNS = "all runs"  # the only arm of a table without arm columns


@dataclass(frozen=True)
class Runs:
    """The runs in a table that are compared, reduced to one row and one result per run.

    Args:
        design: how the table is read.
        table: the columns of these runs.
        values: result of each run; NaN for a run without a result.
        without: whether a run failed, or its result is missing, NaN or infinite.
        counts: numbers of rows and runs, and of runs without a value by reason.
    """

    design: Design
    table: Table
    values: Numbers
    without: Rows
    counts: Mapping[str, int]

    @property
    def arms(self) -> list[str]:
        """The labels of all arms, sorted."""
        if not self.design.arm:
            return [ALL_RUNS]
        return sorted(self._labels[1])

    def of_arm(self, arm: Any, key: str) -> Rows:
        """Return a mask of the rows of an arm.

        Args:
            arm: the arm, as a label or as values by column.
            key: key of the study that names the arm, for error messages.

        Raises:
            UserError: no run belongs to the arm.
        """
        if isinstance(arm, Mapping):
            return matching(self.table, arm, key)
        if not self.design.arm and arm in (None, ALL_RUNS):
            return np.ones(self.table.rows, dtype=bool)
        places, labels = self._labels
        (label,) = _labels_of(arm, labels, key)
        if label not in labels:
            names = ", ".join(self.design.arm)
            if not labels:
                raise UserError(
                    f"{key}={arm}: the rows that count have no value in {names}; if a run has many "
                    "rows, write its arm into every row"
                )
            raise UserError(
                f"{key}={arm}: no run has this value in {names}; {meant(label, labels)}"
            )
        if labels.count(label) > 1:
            raise UserError(
                f"{key}={arm}: several combinations of {', '.join(self.design.arm)} have this "
                "name; write a study, and give the value of each column there"
            )
        return places == labels.index(label)

    @cached_property
    def _labels(self) -> tuple[np.ndarray, list[str]]:
        parts = [self.table.column(name, "arm").labels() for name in self.design.arm]
        if len(parts) == 1:
            return parts[0]
        places = np.stack([places for places, _ in parts], 1)
        complete = (places >= 0).all(1)
        combinations, inverse = np.unique(places[complete], axis=0, return_inverse=True)
        joined = np.full(self.table.rows, -1)
        joined[complete] = inverse.ravel()
        names = [names for _, names in parts]
        return joined, [
            " ".join(labels[k] for k, labels in zip(combination, names, strict=True))
            for combination in combinations
        ]


def matching(table: Table, levels: Mapping[str, object], key: str) -> Rows:
    """Return a mask of the rows of a table with the given values.

    Args:
        table: the table.
        levels: for each column, a value or a list of allowed values.
        key: key of the study that has these values, for error messages.

    Raises:
        UserError: there is no such column, or no row has one of the values, or all of them.
    """
    rows = np.ones(table.rows, dtype=bool)
    for name, wanted in levels.items():
        places, labels = table.column(name, key).labels()
        allowed = _labels_of(wanted, labels, key)
        if unknown := [label for label in allowed if label not in labels]:
            raise UserError(f"{key}: no row has {name}={unknown[0]}; {meant(unknown[0], labels)}")
        rows &= np.isin(places, [labels.index(label) for label in allowed])
    if not rows.any():
        raise UserError(f"{key}: no row has all of {dict(levels)}; remove or change one of them")
    return rows


def _labels_of(wanted: Any, labels: Sequence[str], key: str) -> list[str]:
    """Return the labels of a column that a user means by a value, or by each value of a list.

    Args:
        wanted: the value, or the list of values.
        labels: all labels of the column.
        key: key of the study that has the value, for error messages.

    Raises:
        UserError: a value may mean several labels, as 1.1 may mean "1.1" and "1.10".
    """
    meant_by_user = []
    for value in wanted if isinstance(wanted, list) else [wanted]:
        alike = labels_meant(value, labels)
        if len(alike) > 1:
            raise UserError(
                f"{key}={value}: there are the different names {listed(sorted(alike))}; write the "
                "name as a text, in quotation marks"
            )
        meant_by_user += alike or [name_of_cell(value)]
    return meant_by_user


def runs_of(table: Table, design: Design) -> Runs:
    """Return the runs in a table that are compared, reduced to one result per run.

    Args:
        table: the table of runs, with one or many rows per run.
        design: how the table is read: which rows are used, and which columns have the result, the
            arm and so on.

    Raises:
        UserError: a column is missing or has a wrong value, no run is left, or a run has no result
            although the design refuses such runs.
    """
    counts = {"rows": table.rows}
    if design.where:
        table = table.take(matching(table, design.where, "where"))
    table, values = _one_row_per_run(table, design, counts)
    if not table.rows:
        raise UserError(
            f"{table.source}: no row is left to compare; check `where` and the columns of the "
            "design"
        )
    marked = marked_failed(table, design)
    without = marked | ~np.isfinite(values)
    if (size := np.abs(values[~without]).max(initial=0.0)) > LARGEST:
        raise UserError(
            f"{table.source}: {design.metric} reaches {size:.3g}, but values above {LARGEST:g} "
            "cannot be compared; write inf for runs that diverged"
        )
    counts |= {
        "runs": table.rows,
        "marked_failed": int(marked.sum()),
        "infinite": int(np.isinf(values).sum()),
        "without_value": int(without.sum()),
    }
    if counts["without_value"] and design.missing == REFUSE:
        raise UserError(
            f"{table.source}: {counts['without_value']} of {table.rows} runs have no finite "
            f"{design.metric}, which missing={REFUSE} forbids; choose missing={LEAVE_OUT}, "
            f"missing={RATE} or a value for them"
        )
    filled = isinstance(design.missing, float)
    values = np.where(without, design.missing if filled else np.nan, values)
    return Runs(design, table, values, without & (not filled), counts)


def _one_row_per_run(table: Table, design: Design, counts: dict[str, int]) -> tuple[Table, Numbers]:
    if not design.step:
        return table, table.numbers(design.metric, "metric")
    check_runs(table, design.run, [n for n in (*design.arm, design.group, design.pair) if n])
    run_curves = curves(table, design.run, design.step, design.metric)
    counts["ended_early"] = ended_early(run_curves)
    counts["repeated_steps"] = repeated_steps(run_curves)
    if design.reach is not None:
        rows, values, reached = steps_to(run_curves, design.reach, design.better)
        counts["not_reached"] = int((~reached & np.isfinite(values)).sum())
    elif design.take == "best":
        by = table.numbers(design.by or design.metric, "by")
        if design.by and not np.isfinite(by[run_curves.rows]).any():
            raise UserError(
                f"by={design.by}: no row has both {design.metric} and a finite {design.by}, so no "
                "row can be chosen; write both into the same row"
            )
        rows, values = best_rows(run_curves, by, design.better)
    else:
        rows, values = last_rows(run_curves)
    return table.take(rows), values


def marked_failed(table: Table, design: Design) -> Rows:
    """Return a mask of the rows that the key `failed` of the study marks as failed runs."""
    failed = np.zeros(table.rows, dtype=bool)
    for name, wanted in design.failed.items():
        places, labels = table.column(name, "failed").labels()
        marked = _labels_of(wanted, labels, "failed")
        codes = [labels.index(label) for label in marked if label in labels]
        failed |= np.isin(places, codes)
    return failed


@dataclass(frozen=True)
class Arm:
    """The runs of an arm of a claim.

    Args:
        label: name of the arm for readers.
        weight: factor of the arm's mean in the effect, such as 1 or -1.
        rows: row numbers of its runs, including runs without a result.
        scores: result of each run; NaN for a run that failed to learn.
    """

    label: str
    weight: float
    rows: np.ndarray
    scores: Numbers

    @cached_property
    def values(self) -> Numbers:
        """The finite results of the arm, sorted, because a floating-point sum depends on the
        order.
        """
        return np.sort(self.scores[np.isfinite(self.scores)])

    @property
    def without(self) -> int:
        """The number of runs without a result in this arm."""
        return self.runs - len(self.values)

    @property
    def runs(self) -> int:
        """The number of runs in this arm, including runs without a result."""
        return len(self.rows)

    def to_dict(self) -> Row:
        """Return the numbers of runs, their mean and their standard deviation as plain data."""
        variance = variance_of(self.values)
        return {
            "arm": self.label,
            "weight": self.weight,
            "runs": self.runs,
            "without_value": self.without,
            "mean": float(self.values.mean()) if len(self.values) else None,
            "sd": math.sqrt(variance.value) if variance else None,
        }


def arms_of(claim: Claim, runs: Runs, rows: Rows) -> Iterator[Arm]:
    """Yield the arms that a claim compares, with their weights in the effect.

    A claim with `minus` is about a difference of two differences. Its arms are those of the first
    difference, followed by those of the difference that is subtracted.

    Args:
        claim: the claim.
        runs: all runs that the design selects from the table.
        rows: which runs are considered, such as those of one dataset.

    Raises:
        UserError: no run belongs to an arm, or a run belongs to both treatment and baseline.
    """
    for sign, levels in ((1.0, claim.where), (-1.0, {**claim.where, **claim.minus})):
        here = rows & matching(runs.table, levels, "where") if levels else rows
        treatment = _arm(claim.treatment, sign, runs, here, "treatment")
        yield treatment
        if claim.baseline is not None:
            baseline = _arm(claim.baseline, -sign, runs, here, "baseline")
            if both := len(np.intersect1d(treatment.rows, baseline.rows, assume_unique=True)):
                raise UserError(
                    f"{both} runs belong to both the treatment {treatment.label} and the baseline "
                    f"{baseline.label}: choose arms without common runs"
                )
            yield baseline
        if not claim.minus:
            return


def _arm(arm: Any, weight: float, runs: Runs, rows: Rows, key: str) -> Arm:
    places = np.flatnonzero(runs.of_arm(arm, key) & rows)
    scores, floor = runs.values[places], runs.design.floor
    if floor is not None:  # the rule of ablate.verdict.floor
        gained = runs.design.sign * (scores - floor)
        best = np.max(gained, initial=0.0, where=np.isfinite(gained))
        learned = [
            above(gain, 0.0, abs(floor)) and at_most(PLATEAU * best, gain) for gain in gained
        ]
        scores = np.where(learned, scores, np.nan)
    return Arm(label(arm), weight, places, scores)


def label(arm: Any) -> str:
    """Return the name of an arm for readers."""
    if arm is None:
        return ALL_RUNS
    if isinstance(arm, Mapping):
        return " ".join(f"{name}={name_of_cell(value)}" for name, value in arm.items())
    return name_of_cell(arm)


def pairs_of(
    runs: Runs, arms: tuple[Arm, ...]
) -> tuple[Float[np.ndarray, "arms pairs"], Bool[np.ndarray, "arms pairs"]]:
    """Return the results of the arms, aligned by the column that pairs runs (such as the seed).

    Returns:
        the results, one row per arm and one column per pair, with NaN if a pair has no run of the
            arm, or a run that failed to learn; and whether a pair has a run of the arm.

    Raises:
        UserError: a pair has two runs of an arm.
    """
    name = runs.design.pair
    places, labels = runs.table.column(name, "pair").labels()
    scores = np.full((len(arms), len(labels)), np.nan)
    counts = np.zeros((len(arms), len(labels)), dtype=np.int64)
    for row, count, arm in zip(scores, counts, arms, strict=True):
        pairs = places[arm.rows]
        row[pairs[pairs >= 0]] = arm.scores[pairs >= 0]
        count += np.bincount(pairs[pairs >= 0], minlength=len(labels))
        if (count > 1).any():
            twice = labels[int(np.argmax(count > 1))]
            raise UserError(
                f"pair={name}: {name}={twice} occurs {count.max()} times in {arm.label}; "
                "a pair may have only one run of each arm, so set group, or leave pair out"
            )
    some = counts.any(0)
    return scores[:, some], counts[:, some] > 0


def in_order(rows: Float[np.ndarray, "rows columns"]) -> Float[np.ndarray, "rows columns"]:
    """Return the rows of an array, sorted by their values, so that sums do not depend on the order
    of runs.
    """
    return rows[np.lexsort(rows.T)]
