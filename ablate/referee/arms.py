"""Select the runs in the arms of a claim, and their results."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from ablate.errors import UserError
from ablate.evidence.foreign.table import Numbers, Rows, label_of
from ablate.referee.question import Claim
from ablate.referee.runs import ALL_RUNS, Runs, matching
from ablate.verdict.floor import PLATEAU


@dataclass(frozen=True)
class Arm:
    """The runs of an arm of a claim.

    Args:
        label: name of the arm for readers.
        weight: factor of the arm's mean in the effect, such as 1 or -1.
        rows: row numbers of its runs, including runs without a result.
        scores: result of each run; NaN for a run that failed to learn.
        comparable: mask of the runs of the table that have the arm's dataset and settings.
    """

    label: str
    weight: float
    rows: np.ndarray
    scores: Numbers
    comparable: Bool[np.ndarray, " table"]

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
        scores = np.where((gained > 0) & (gained >= PLATEAU * best), scores, np.nan)
    return Arm(label(arm), weight, places, scores, rows)


def label(arm: Any) -> str:
    """Return the name of an arm for readers."""
    if arm is None:
        return ALL_RUNS
    if isinstance(arm, Mapping):
        return " ".join(f"{name}={label_of(value)}" for name, value in arm.items())
    return label_of(arm)


@dataclass(frozen=True)
class Pairs:
    """The results of all arms, aligned by the column that pairs runs (such as the seed).

    Args:
        scores: one row per arm, one column per pair; NaN if a pair has no run of the arm, or a run
            that failed to learn.
        present: whether a pair has a run of the arm, in the same shape.
    """

    scores: Float[np.ndarray, "arms pairs"]
    present: Bool[np.ndarray, "arms pairs"]


def pairs_of(runs: Runs, arms: tuple[Arm, ...]) -> Pairs:
    """Return the results of the arms, aligned by the column that pairs runs.

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
    return Pairs(scores[:, some], counts[:, some] > 0)


def in_order(rows: Float[np.ndarray, "rows columns"]) -> Float[np.ndarray, "rows columns"]:
    """Return the rows of an array, sorted by their values, so that sums do not depend on the order
    of runs.
    """
    return rows[np.lexsort(rows.T)]
