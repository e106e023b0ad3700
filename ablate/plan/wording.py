"""Format the plan of a sweep as text and as plain data, and warn before a sweep starts about claims
that, judging by earlier runs, it cannot decide.
"""

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from ablate.evidence.looks import planned_looks
from ablate.metric.table import metric_of
from ablate.phrases import counted, listed, name_of
from ablate.plan.plan import Arm, Plan, doubts, of_cells
from ablate.plan.power import Sensitivity
from ablate.plan.registry import rows
from ablate.sweep.begin import is_part
from ablate.sweep.planned import PlannedSweep
from ablate.verdict.kind import kind_of

HEAD = ("arm", "runs", "done", "seconds each", "source of the time")
SIDES = "<>>><"
UNKNOWN = "unknown"
EFFECTS = {"equivalence": "a margin", "non_inferiority": "a margin", "trend": "a slope"}
PART = (
    "A part of a study has no verdict. For the effects that the whole study can detect, leave out "
    "`part` and `without_runs`."
)
WARNING = "According to earlier runs of their arms, these claims would stay undecided:"


def format_plan(planned: Plan, seen: list[Sensitivity]) -> str:
    """Return a plan as text: numbers of runs, time, disk space, and the sensitivity of each
    claim.
    """
    claims = ["", PART] if is_part(planned.config) else _sensitivities(seen)
    return "\n".join([_cells(planned), "", _table(planned), "", *_costs(planned), *claims])


def _cells(planned: Plan) -> str:
    cells, arms = sum(arm.cells for arm in planned.arms), len(planned.arms)
    done = sum(arm.done or 0 for arm in planned.everything)
    first = sum(arm.cells for arm in planned.screening)
    tuned = f", after {first} that choose {planned.tuned}" if first else ""
    most = max(arm.cells for arm in planned.arms)
    each = f"{'up to ' * (cells < most * arms)}{counted(most, 'seed')} each"
    runs = f"{cells} runs of {counted(arms, 'arm')}, {each}{tuned}"
    return f"{planned.config.name}: {runs}; {done} are done"


def _table(planned: Plan) -> str:
    lines = [HEAD, *_tuning_lines(planned), *(_line(arm) for arm in planned.arms)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(HEAD))]
    forms = [f"{side}{width}" for side, width in zip(SIDES, widths, strict=True)]
    shown = (map(format, line, forms) for line in lines)
    return "\n".join("  ".join(cells).rstrip() for cells in shown)


def _tuning_lines(planned: Plan) -> list[tuple[str, ...]]:
    """Return a line of the table for each arm that is tuned: all its tuning runs together."""
    by_arm: dict[str, list[Arm]] = {}
    for arm in planned.screening:
        words = [word for word in arm.name.split(" ") if not word.startswith(f"{planned.tuned}=")]
        by_arm.setdefault(" ".join(words), []).append(arm)
    return [_tuning_line(name, arms, planned.tuned) for name, arms in by_arm.items()]


def _tuning_line(name: str, arms: list[Arm], tuned: str) -> tuple[str, ...]:
    costs = [arm.cost for arm in arms if arm.cost]
    timed = len(costs) == len(arms)
    seconds = sum(cost.seconds for cost in costs) / len(arms)
    tried = f"{counted(len(arms), 'value')} of {tuned}"
    return (
        f"{name}, {tried}" if name else tried,
        str(sum(arm.cells for arm in arms)),
        str(sum(arm.done or 0 for arm in arms)),
        f"{seconds:,.1f}" if timed else UNKNOWN,
        listed([*dict.fromkeys(cost.known_by for cost in costs)]) if timed else "",
    )


def _line(arm: Arm) -> tuple[str, ...]:
    done = "?" if arm.done is None else str(arm.done)
    seconds = f"{arm.cost.seconds:,.1f}" if arm.cost else UNKNOWN
    return arm.name, str(arm.cells), done, seconds, arm.cost.known_by if arm.cost else ""


def _costs(planned: Plan) -> list[str]:
    free = shutil.disk_usage(_existing(Path(planned.config.paths.results))).free
    disk = f"disk: at most {planned.needed / 1e9:.2f} GB, {free / 1e9:.1f} GB are free"
    if planned.seconds is None:
        arms = counted(len(planned.unknown), "arm")
        return [
            f"time: unknown for {arms}, because results/ has no similar run from "
            "a machine like this; with sample=true, the command times a few training steps",
            disk,
        ]
    return [
        f"core time: {duration(planned.seconds)}{_guessed(len(planned.guessed))}",
        f"wall time: {duration(planned.wall)}, {planned.at_once} at a time{_early(planned)}",
        disk,
    ]


def _guessed(arms: int) -> str:
    if not arms:
        return ""
    these = "the time of one arm is" if arms == 1 else f"the times of {arms} arms are"
    return f"; {these} taken from other arms, which may be slower or faster; sample=true times each"


def _early(planned: Plan) -> str:
    """Return a phrase on interim analyses, which may shorten the sweep; "" if none is planned."""
    if planned.study is None or is_part(planned.config):
        return ""
    looks = planned_looks(planned.study)
    before = listed([str(seeds) for seeds in looks if seeds < planned.seeds])
    return f"; less if interim analyses after {before} seeds end some arms" if before else ""


def _existing(folder: Path) -> Path:
    return folder if folder.exists() else _existing(folder.absolute().parent)


def duration(seconds: float) -> str:
    """Return a duration as text, in seconds, minutes or hours."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _sensitivities(seen: list[Sensitivity]) -> list[str]:
    if not seen:
        return []
    head = "For each claim, the smallest effect that has 80 % power, and the seeds that are needed:"
    reasons = dict.fromkeys(f"  {name_of(s.claim)}: {s.one_way}" for s in seen if s.one_way)
    return ["", head, *_sensitivity_lines(seen), *(["", WARNING, *reasons] if reasons else [])]


def _sensitivity_lines(seen: list[Sensitivity]) -> list[str]:
    """Return a line for each claim; claims with the same unknown variation share one line."""
    unknown = [s.noise for s in seen if s.is_unknown]
    shared = [reason for reason in dict.fromkeys(unknown) if unknown.count(reason) > 1]
    lines = [_sensitivity_line(s) for s in seen if not (s.is_unknown and s.noise in shared)]
    lines += [f"unknown for {unknown.count(reason)} claims: {reason}" for reason in shared]
    return [f"  {line}" for line in lines]


def _sensitivity_line(sensitivity: Sensitivity) -> str:
    claim = sensitivity.claim
    name = f"{name_of(claim)}, {claim['kind']}"
    if sensitivity.least is None and claim["kind"] == "stability" and sensitivity.plan:
        return f"{name}: no difference, the seeds are too few; {_needs(sensitivity)}"
    if sensitivity.least is None:
        start = name if claim["kind"] == "exact" else f"{name}: unknown"
        return f"{start}: {sensitivity.noise}"
    effect = EFFECTS.get(claim["kind"], "a difference")
    size = f"{effect} of {sensitivity.least:.3g} in {metric_of(claim['metric']).axis}"
    return f"{name}: {size}; {_needs(sensitivity)} ({sensitivity.noise})"


def _needs(sensitivity: Sensitivity) -> str:
    plan = sensitivity.plan
    if plan is None:
        return "the claim names no effect to plan for"
    if plan.seeds is None:
        return kind_of(sensitivity.claim).beyond_most_seeds
    return f"if the true effect is {plan.effect:g}, {plan.seeds} seeds decide it"


def solved(planned: Plan, minutes: int, seen: list[Sensitivity]) -> str:
    """Return sentences that say how many seeds fit into `minutes`, and which claims they cannot
    decide.

    Args:
        planned: the plan with the largest number of seeds that fits.
        minutes: the time that the sweep may take.
        seen: for each claim, the smallest effect that this number of seeds can detect.
    """
    if not planned.seeds:
        return f"\nNot even one seed of every arm fits into {minutes} minutes."
    lines = [
        f"\nIn {minutes} minutes: {planned.seeds} seeds of every arm, {duration(planned.wall)} "
        f"(budget.seeds={planned.seeds}, or seed=range({planned.seeds}) where seeds are listed)."
    ]
    most = planned.seeds
    short = dict.fromkeys(
        name_of(s.claim) for s in seen if s.plan and (s.plan.seeds or most + 1) > most
    )
    unknown = dict.fromkeys(name_of(s.claim) for s in seen if s.is_unknown)
    if short:
        lines.append(f"With less than 80 % power, these seeds decide: {', '.join(short)}.")
    if unknown and planned.seeds == 1:
        lines.append(f"A single seed cannot decide these claims: {', '.join(unknown)}.")
    elif unknown:
        lines.append(f"The run-to-run variation is unknown for: {', '.join(unknown)}.")
    return "\n".join(lines)


def say_doubts(sweep: PlannedSweep) -> None:
    """Print each claim that can have only one outcome, judging by earlier runs, to stderr.

    Each claim is printed with the reason: both arms are at an end of the metric's scale, an arm has
    never learned, or the margin is larger than the distance of the baseline from the end of the
    scale. The sweep runs anyway.
    """
    if sweep.study is None:
        return
    plan, config = of_cells(sweep), sweep.config
    if lines := doubts(plan, rows(Path(config.paths.results), plan.tuned)):
        print("\n  ".join([f"{config.name}: {WARNING}", *lines]), file=sys.stderr, flush=True)


def as_data(planned: Plan, seen: Sequence[Sensitivity]) -> dict[str, object]:
    """Return the plan of a sweep, with the sensitivity of each claim, as plain data.

    Times are in seconds, and unknown values are None. `core_seconds` counts the time of a run for
    each of its threads. `tuned` is the config key that the screening runs tune, or "". `bytes` is
    the disk space that the sweep needs.
    """
    return {
        "name": planned.config.name,
        "seeds": planned.seeds,
        "tuned": planned.tuned,
        "screening": [*map(_arm_data, planned.screening)],
        "arms": [*map(_arm_data, planned.arms)],
        "core_seconds": planned.seconds,
        "wall_seconds": None if planned.seconds is None else planned.wall,
        "bytes": planned.needed,
        "claims": [*map(_claim_data, seen)],
    }


def _arm_data(arm: Arm) -> dict[str, object]:
    """Return an arm of a planned sweep as plain data.

    `cells` is the number of runs, and `done` the number of runs that earlier runs already cover.
    `seconds_each` is the estimated time of a run, and `known_by` says where the estimate comes
    from.
    """
    return {
        "name": arm.name,
        "cells": arm.cells,
        "done": arm.done,
        "seconds_each": arm.cost.seconds if arm.cost else None,
        "known_by": arm.cost.known_by if arm.cost else None,
    }


def _claim_data(sight: Sensitivity) -> dict[str, object]:
    """Return a claim of a planned study as plain data.

    `reading` distinguishes claims with the same id; "" if the claim has none.
    `least_effect` is the smallest effect that the sweep detects with power 0.8. `seeds_needed` is
    the number of seeds that decide the claim with this power. `noise` is the source of the assumed
    run-to-run variation. `doubt` says why the claim can have only one outcome; "" if it can have
    several.
    """
    return {
        "id": sight.claim["id"],
        "reading": sight.claim.get("reading") or "",
        "kind": sight.claim["kind"],
        "metric": sight.claim["metric"],
        "least_effect": sight.least,
        "seeds_needed": sight.plan.seeds if sight.plan else None,
        "noise": sight.noise,
        "doubt": sight.one_way,
    }
