"""Runs -> one row per arm: the table that every sweep ends with."""

import statistics
from typing import Any

from rich.table import Table

from ablate.study.outcome import STATUSES, value

# Shown where the runs have them, in this order.
COLUMNS = (
    "test/bleu",
    "test/bleu_tokenised",
    "test/chrf",
    "test/nll",
    "test_long/bleu",
    "test/length_ratio",
)
IN_FILE_ONLY = ("test/bleu_tokenised", "test/chrf", "test/length_ratio")
DIGITS = {"test/nll": 3, "test/length_ratio": 3}


def arms(runs: list[dict[str, Any]], factors: list[str]) -> dict[str, list[dict[str, Any]]]:
    """Group runs by the levels of the factors, in the order of the sweep."""
    grouped: dict[str, list[dict[str, Any]]] = {}
    for run in runs:
        levels = [run["levels"].get(factor, "default") for factor in factors]
        grouped.setdefault(" ".join(levels) or "the only arm", []).append(run)
    return grouped


def rows(runs: list[dict[str, Any]], factors: list[str]) -> list[dict[str, str]]:
    """Mean and standard deviation over seeds of every metric, and counts of every status."""
    ended = [run for run in runs if run["status"] != "failed"]
    metrics = [c for c in COLUMNS if any(c in run["metrics"] for run in ended)]
    metrics += sorted({k for run in ended for k in run["metrics"] if k.startswith("probe/")})
    return [
        _row(arm, members, metrics, probed=any(m.startswith("probe/") for m in metrics))
        for arm, members in arms(runs, factors).items()
    ]


def _row(
    arm: str, members: list[dict[str, Any]], metrics: list[str], *, probed: bool
) -> dict[str, str]:
    ended = [run for run in members if run["status"] != "failed"]
    row = {"arm": arm, "seeds": str(len(ended))}
    for metric in metrics:
        row[metric] = _spread([value(run, metric) for run in ended], DIGITS.get(metric, 2))
    counts = {s: sum(run["status"] == s for run in members) for s in STATUSES[1:]}
    row |= {status: str(count) for status, count in counts.items() if not probed or count}
    row["parameters"] = _largest(run["metrics"].get("parameters", 0) for run in ended)
    row["seconds"] = _spread([run["wall_seconds"] for run in ended], 1)
    return row


def _spread(values: list[float], digits: int) -> str:
    if not values:
        return "-"
    mean = f"{statistics.fmean(values):,.{digits}f}"
    if len(values) == 1:
        return mean.removesuffix("." + "0" * digits)
    return f"{mean} ± {statistics.stdev(values):.{digits}f}"


def _largest(values: Any) -> str:
    return f"{max(values, default=0):,}"


def as_rich(title: str, table_rows: list[dict[str, str]]) -> Table:
    """The table for a terminal; the file has more columns."""
    table = Table(title=title, title_justify="left")
    names = [name for name in (table_rows[0] if table_rows else ()) if name not in IN_FILE_ONLY]
    for name in names:
        table.add_column(name, justify="left" if name == "arm" else "right", no_wrap=True)
    for row in table_rows:
        table.add_row(*(row[name] for name in names))
    return table


def as_markdown(table_rows: list[dict[str, str]]) -> str:
    """The same table for a file."""
    if not table_rows:
        return ""
    head = list(table_rows[0])
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *(list(r.values()) for r in table_rows)]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)
