"""How long a sweep will take, from how long such runs took on this machine."""

import heapq
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ablate.plan.registry import Kin, Row

PER_CELL = 0.5  # seconds to start a run, which no record counts: lab/bench/cells.py
PER_SWEEP = 15.0  # seconds to check all cells, and for table, verdicts and report


@dataclass(frozen=True)
class Cost:
    """Seconds of one cell of an arm, and what is known of them."""

    seconds: float
    known_by: str
    guessed: bool = False  # from other variants


def cost(
    kin: Kin,
    steps: int,
    validations: int,
    asked: str | None,
    known: Iterable[Row],
    *,
    tests: int = 1,
    trains: bool = True,
) -> Cost | None:
    """Time of a run, from runs of its variant, or else of its size; None where there are none.

    Args:
        kin: what the run shares with earlier ones.
        steps: its optimiser steps, 0 for a probe.
        validations: how often it is validated.
        asked: how it is tested; None where it is not.
        known: earlier runs. Those of another machine say nothing.
        tests: how often it is tested: at each of its budgets.
        trains: whether it has to train, or tests what another arm has trained.
    """
    here = [row for row in known if row.here]
    for same, known_by in (("variant", "this variant"), ("size", "other variants of this size")):
        found = [row for row in here if getattr(row.kin, same) == getattr(kin, same)]
        whole = [row for row in found if not row.sample]
        if found := whole or found:
            trained = trains * statistics.median(
                row.rest + steps * row.per_update + validations * row.per_validation
                for row in found
            )
            tested = tests * _testing(found, asked) if asked else 0.0
            kind = "earlier" if whole else "short"
            many = f"{len(found)} {kind} run{'s' * (len(found) > 1)}"
            seconds = PER_CELL + trained + tested
            return Cost(seconds, f"{many} of {known_by}", guessed=same == "size")
    return None


def _testing(found: Sequence[Row], asked: str) -> float:
    alike = [row.tested[asked].seconds for row in found if asked in row.tested]
    others = [test.seconds for row in found for test in row.tested.values()]
    return statistics.median(alike or others or [0.0])


def wall(stages: Iterable[Iterable[float]], at_once: int) -> float:
    """Seconds that a sweep takes whose cells are dealt in their order, one stage after another."""
    total = PER_SWEEP
    for cells in stages:
        slots = [0.0] * at_once
        for seconds in cells:
            heapq.heapreplace(slots, slots[0] + seconds)
        total += max(slots)
    return total
