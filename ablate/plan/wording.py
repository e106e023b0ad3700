"""Format the plan of a sweep as text, and as plain data."""

import shutil
from collections.abc import Sequence
from pathlib import Path

from ablate.config.combinations import design_of, forecast
from ablate.config.combinations import plan_of as planned
from ablate.config.labels import arm_label
from ablate.phrases import counted, name_of
from ablate.plan.plan import Arm, Plan
from ablate.plan.power import STANDARD, WARNING, Sensitivity

HEAD = ("arm", "runs", "done", "seconds each")
NONE = "-"
HUGE = 4  # standard deviations; hardly any change of a model has so large an effect
BASELINE = "baseline"  # the name of an arm without overrides


def format_plan(plan: Plan, seen: Sequence[Sensitivity], doubts: Sequence[str]) -> str:
    """Return a plan as text: numbers of runs, time and disk space, and the power table.

    Args:
        plan: the plan.
        seen: what the sweep can show for each claim.
        doubts: claims that can have only one outcome, with the reason.
    """
    tuning, arms = plan.stages
    runs, done = (
        sum(len(arm.cells) for arm in (*tuning, *arms)),
        sum(arm.done or 0 for arm in (*tuning, *arms)),
    )
    design = design_of(plan.sweep.config)
    lines = [
        f"{plan.sweep.config.name}: {counted(runs, 'run')} of {counted(len(arms), 'arm')} and "
        f"{counted(plan.seeds, 'seed')}; {done} are done",
        "",
        *(
            forecast(design, planned(design), plan.noise, plan.interaction)
            if design
            else _table([HEAD, *(_row(arm, "tuning: ") for arm in tuning), *map(_row, arms)])
        ),
        "",
        f"time: {_time(plan)}",
        f"disk: {_disk(plan)}",
    ]
    if seen:
        lines += ["", "Smallest effect that has 80 % power, by the number of seeds:", *_power(seen)]
        lines += _too_few(plan.seeds, seen)
    if doubts:
        lines += ["", WARNING, *(f"  {doubt}" for doubt in doubts)]
    return "\n".join(lines)


def _row(arm: Arm, before: str = "") -> tuple[str, ...]:
    done = "?" if arm.done is None else str(arm.done)
    seconds = NONE if arm.seconds is None else f"{arm.seconds:,.1f}"
    return f"{before}{arm_label(arm.levels) or BASELINE}", str(len(arm.cells)), done, seconds


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return rows of cells as lines with aligned columns: the first to the left, others to the
    right.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            [row[0].ljust(widths[0])]
            + [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        ).rstrip()
        for row in rows
    ]


def _time(plan: Plan) -> str:
    if plan.wall is None:
        return (
            f"unknown for {counted(len(plan.untimed), 'arm')}; with sample=true, the command times "
            "a few training steps of each"
        )
    return f"{duration(plan.wall)}, {plan.at_once} at a time"


def _disk(plan: Plan) -> str:
    folder = Path(plan.sweep.config.paths.results).absolute()
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    free = shutil.disk_usage(existing).free
    return f"at most {plan.sweep.checked.needed / 1e9:.2f} GB, {free / 1e9:.1f} GB are free"


def duration(seconds: float) -> str:
    """Return a duration as text, in seconds, minutes or hours."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _power(seen: Sequence[Sensitivity]) -> list[str]:
    """Return the lines of the power table.

    The last column has the number of seeds that a claim needs, if it is known. Claims with equal
    values share a line.
    """
    alike: dict[tuple[str, ...], list[str]] = {}
    for each in seen:
        least = (NONE if x is None else f"{x:.3g}" for x in each.least.values())
        needed = NONE if each.needed is None else str(each.needed)
        values = (each.claim["kind"], each.unit, *least, needed)
        alike.setdefault(values, []).append(name_of(each.claim))
    rows = [("claim", "kind", "unit", *map(str, seen[0].least), "needed")]
    for values, (first, *more) in alike.items():
        rows.append((f"{first} and {len(more)} more" if more else first, *values))
    lines = _table(rows)
    if any(each.unit == STANDARD for each in seen):
        lines.append(
            "No earlier sweep of this name and setting tells how much runs vary, so the unit is "
            "the standard deviation of the difference for one seed."
        )
    return lines


def _too_few(seeds: int, seen: Sequence[Sensitivity]) -> list[str]:
    """Return a warning if so few seeds could show only an effect that no experiment has."""
    sizes = [
        HUGE if (least := each.least.get(seeds)) is None else least
        for each in seen
        if each.unit == STANDARD
    ]
    if not sizes or min(sizes) < HUGE:
        return []
    return [
        f"{counted(seeds, 'seed')} will probably decide nothing: even a difference of {HUGE} "
        "standard deviations would stay undecided. Plan more seeds before you train."
    ]


def as_data(plan: Plan, seen: Sequence[Sensitivity], doubts: Sequence[str]) -> dict[str, object]:
    """Return a plan as plain data; times are in seconds, and unknown values are None."""
    tuning, arms = ([*map(_arm_data, stage)] for stage in plan.stages)
    return {
        "name": plan.sweep.config.name,
        "seeds": plan.seeds,
        "tuning": tuning,
        "arms": arms,
        "wall_seconds": plan.wall,
        "bytes": plan.sweep.checked.needed,
        "claims": [
            {
                "id": each.claim["id"],
                "reading": each.claim.get("reading") or "",
                "kind": each.claim["kind"],
                "metric": each.claim["metric"],
                "unit": each.unit,
                "least_effect": {str(n): least for n, least in each.least.items()},
                "seeds_needed": each.needed,
            }
            for each in seen
        ],
        "doubts": [*doubts],
    }


def _arm_data(arm: Arm) -> dict[str, object]:
    return {
        "levels": arm.levels,
        "runs": len(arm.cells),
        "done": arm.done,
        "seconds_each": arm.seconds,
    }
