"""Estimate the time of a sweep from earlier runs on this machine."""

import heapq
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ablate.plan.registry import Row, RunSignature

PER_CELL = 0.5  # seconds to start a run, which records do not include; see lab/bench/cells.py
PER_SWEEP = 15.0  # seconds to check all cells, and for table, verdicts and report


@dataclass(frozen=True)
class Cost:
    """The estimated time of one cell (run) of an arm in seconds, and the source of the estimate.

    `known_by` is the source as text, such as "3 earlier runs of this variant".
    """

    seconds: float
    known_by: str
    guessed: bool = False  # whether the estimate comes from other variants


def cost(
    kin: RunSignature,
    steps: int,
    validations: int,
    asked: str | None,
    earlier: Iterable[Row],
    *,
    tests: int = 1,
    trains: bool = True,
) -> Cost | None:
    """Return the estimated time of a run, from similar earlier runs; None if there are none.

    Similar runs have the same variant or, if no run has, the same size (`ablate.plan.registry`).

    Args:
        kin: digests by which similar earlier runs are found.
        steps: number of optimiser steps, 0 for a probe.
        validations: number of validations.
        asked: digest of the settings of the run's test; None if the run is not tested.
        earlier: earlier runs; runs on other machines are ignored.
        tests: number of tests: one for each budget.
        trains: whether the run must train; otherwise it tests weights that another arm trained.
    """
    here = [row for row in earlier if row.here]
    for same, known_by in (("variant", "this variant"), ("size", "other variants of this size")):
        similar = [row for row in here if getattr(row.kin, same) == getattr(kin, same)]
        whole = [row for row in similar if not row.sample]
        if similar := whole or similar:
            trained = trains * statistics.median(
                row.rest + steps * row.per_update + validations * row.per_validation
                for row in similar
            )
            tested = tests * _testing(similar, asked) if asked else 0.0
            kind = "earlier" if whole else "short"
            many = f"{len(similar)} {kind} run{'s' * (len(similar) > 1)}"
            seconds = PER_CELL + trained + tested
            return Cost(seconds, f"{many} of {known_by}", guessed=same == "size")
    return None


def _testing(similar: Sequence[Row], asked: str) -> float:
    alike = [row.tested[asked].seconds for row in similar if asked in row.tested]
    any_test = [test.seconds for row in similar for test in row.tested.values()]
    return statistics.median(alike or any_test or [0.0])


def wall(stages: Iterable[Iterable[float]], at_once: int) -> float:
    """Return the seconds until a sweep ends, with `at_once` runs at a time.

    `stages` has the seconds of every run; the runs of a stage start in this order, after all runs
    of the previous stage.
    """
    total = PER_SWEEP
    for cells in stages:
        slots = [0.0] * at_once
        for seconds in cells:
            heapq.heapreplace(slots, slots[0] + seconds)
        total += max(slots)
    return total
