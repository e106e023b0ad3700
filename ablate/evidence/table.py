"""Summarise runs in one row per arm, for the table at the end of a sweep."""

import statistics
from collections import Counter
from collections.abc import Collection, Iterable
from contextlib import suppress
from textwrap import wrap
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from ablate.config.labels import arm_label
from ablate.config.screen import FACTOR
from ablate.evidence.outcome import STATUSES, value
from ablate.evidence.types import Run, Spread
from ablate.metric.table import metric_of

# shown in this order, if the runs have them
COLUMNS = (
    "test/bleu",
    "test/bleu_tokenised",
    "test/chrf",
    "test/nll",
    "test_long/bleu",
    "test/length_ratio",
    "test/calibration_error",
)
IN_FILE_ONLY = ("test/bleu_tokenised", "test/chrf", "test/length_ratio", "test/calibration_error")
PROBE = "probe/"
COUNTS = (*STATUSES[1:], "reused")  # columns that the terminal shows only if a value is not 0
ARM = 18  # maximum number of letters per line of an arm's name in a terminal
Row = dict[str, str]


def by_arm(runs: Iterable[Run]) -> dict[str, list[Run]]:
    """Return the runs of every arm by the label of the arm, in the order of the sweep.

    Arms with different levels have different labels (ablate.evidence.form.check_arms).
    """
    grouped: dict[str, list[Run]] = {}
    for run in runs:
        grouped.setdefault(run["arm"], []).append(run)
    return grouped


def differ_in_code(runs: Iterable[Run]) -> bool:
    """Return whether runs were made with different code, libraries, initial weights, data or
    devices (`Run.code`); runs that do not record their code are ignored.
    """
    return len({run["code"] for run in runs if run.get("code")}) > 1


def by_label(runs: list[Run]) -> dict[str, list[Run]]:
    """Return the runs of every arm by the arm's name in words, in the order of the sweep.

    If two arms have the same name, their overrides follow in brackets.
    """
    arms = by_arm(runs)
    labels = {arm: arm_label(members[0]["levels"]) or arm for arm, members in arms.items()}
    count = Counter(labels.values())
    return {
        label if count[label] == 1 else f"{label} [{arm}]": arms[arm]
        for arm, label in labels.items()
    }


def rows(runs: list[Run], asked: Collection[str] = ()) -> list[Row]:
    """Return a row per arm, with text by column: number of seeds, mean and standard deviation of
    the metrics in `COLUMNS`, of the metrics of claims (`asked`) and of probes, status counts,
    parameters, and median seconds.
    """
    ended = [run for run in runs if run["status"] != "failed"]
    usual = [*COLUMNS, *sorted(metric for metric in asked if not metric.startswith(PROBE))]
    metrics = [c for c in dict.fromkeys(usual) if any(c in run["metrics"] for run in ended)]
    metrics += sorted({k for run in ended for k in run["metrics"] if k.startswith(PROBE)})
    probed = any(metric.startswith(PROBE) for metric in metrics)
    counted = [s for s in STATUSES[1:] if not probed or any(run["status"] == s for run in runs)]
    return [_row(arm, members, metrics, counted) for arm, members in by_label(runs).items()]


def _row(arm: str, members: list[Run], metrics: list[str], counted: list[str]) -> Row:
    ended = [run for run in members if run["status"] != "failed"]
    row = {"arm": arm, "seeds": str(len(ended))}
    for metric in metrics:
        digits = 2 if metric.startswith(PROBE) else metric_of(metric).digits
        row[metric] = _in_words(spread(ended, metric), digits)
    row |= {status: str(sum(run["status"] == status for run in members)) for status in counted}
    row["reused"] = str(sum(run["reused"] for run in ended))
    row["parameters"] = f"{max((r['metrics'].get('parameters') or 0 for r in ended), default=0):,}"
    # the median is robust against a run that was interrupted for an hour
    seconds = [run["seconds"] for run in ended]
    row["median seconds"] = f"{statistics.median(seconds):,.1f}" if seconds else "-"
    return row


def spread(runs: list[Run], metric: str) -> Spread | None:
    """Return mean and standard deviation of a metric over the runs that have it; None if none has
    it.
    """
    scores = []
    for run in runs:
        with suppress(KeyError):  # the run failed before it could be measured
            scores.append(value(run, metric))
    if not scores:
        return None
    sd = statistics.stdev(scores) if len(scores) > 1 else None
    return {"mean": statistics.fmean(scores), "sd": sd}


def _in_words(measured: Spread | None, digits: int) -> str:
    if measured is None:
        return "-"
    mean = f"{measured['mean']:,.{digits}f}"
    if measured["sd"] is None:
        return mean.removesuffix("." + "0" * digits)
    return f"{mean} ± {measured['sd']:.{digits}f}"


def as_rich(title: str, table_rows: list[Row], asked: Collection[str] = ()) -> Table:
    """Return the table of arms for a terminal, which has fewer columns than the Markdown file.

    Args:
        title: title of the table.
        table_rows: one row per arm.
        asked: metrics of the claims. If there are any, the table leaves out all other metrics that
            come from a probe (a measurement of an untrained model).
    """
    table = Table(
        title=title, title_justify="left", box=SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0)
    )
    names = [name for name in (table_rows[0] if table_rows else ()) if _shown(name, asked)]
    names = [
        name for name in names if name not in COUNTS or any(r[name] != "0" for r in table_rows)
    ]
    for name in names:
        words = " ".join(row[name] for row in table_rows).split()
        table.add_column(
            name,
            justify="left" if name == "arm" else "right",
            overflow="fold",
            min_width=max(map(len, words)),  # narrow terminals break lines between words
            no_wrap=name == "arm",  # wrapped below, because rich would crop the last column
        )
    for row in table_rows:
        # Text, because a label such as callbacks=[early_stopping] would be read as markup
        cells = {
            **row,
            "arm": "\n".join(wrap(row["arm"], ARM, break_long_words=False, break_on_hyphens=False)),
        }
        table.add_row(*(Text(cells[name]) for name in names))
    return table


def _shown(name: str, asked: Collection[str]) -> bool:
    probed = name.startswith(PROBE) and bool(asked)
    return name in asked or not (probed or name in IN_FILE_ONLY)


def as_markdown(table_rows: list[Row]) -> str:
    """Return the table of arms as Markdown; "" without rows."""
    if not table_rows:
        return ""
    head = list(table_rows[0])
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *(list(r.values()) for r in table_rows)]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def steps_of(runs: Iterable[Run], factor: str, steps: int) -> int | list[int]:
    """Return the number of training steps of runs; all numbers if it varies.

    Args:
        runs: the runs.
        factor: `budget.steps` or `budget.short`, which may be a factor of the study.
        steps: the number of steps if the key is no factor.
    """
    levels = [*dict.fromkeys(_steps(run, factor, steps) for run in runs)]
    return levels if len(levels) > 1 else next(iter(levels), steps)


def _steps(run: Run, factor: str, steps: int) -> Any:
    """Return the number of training steps of a run: the level of the factor, or else `steps`.

    A variant of a screen may set the number of steps itself, which no level shows. For a finished
    run of a screen, it is therefore the number of steps that the run recorded.
    """
    if FACTOR in run["levels"] and run["status"] == "finished":
        return int(run["metrics"].get("steps") or steps)
    return run["levels"].get(factor, steps)
