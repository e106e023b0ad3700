"""Draw the table of a comparison as W&B's page shows it, grouped by arm, from the records that its
runs wrote offline: `python -m lab.wandb_table RESULTS`.
"""

import json
import statistics
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from wandb.proto.wandb_internal_pb2 import Record

PICTURE = Path("docs/images/wandb_table.png")
BLOCK, HEADER, START = 1 << 15, 7, 7  # bytes of a block, of the head of a part, and of the file
ENDS = (1, 4)  # kinds of parts with which a record ends
METRICS = ("status", "val/nll", "test/nll", "test/bleu", "test/bpb")
HIDDEN = ("Name", "config", "record", "_wandb")  # keys that are no columns
NAME, COLUMN, ROW = 3.2, 1.3, 0.3  # widths and height in inches


def records(file: Path) -> Iterator[Record]:
    """Yield the records in a file that W&B wrote offline (the format of LevelDB's log)."""
    content, place, parts = file.read_bytes(), START, b""
    while place + HEADER <= len(content):
        left = BLOCK - place % BLOCK
        if left < HEADER:  # the rest of a block that is too short for a head
            place += left
            continue
        _, length, kind = struct.unpack("<IHB", content[place : place + HEADER])
        parts += content[place + HEADER : place + HEADER + length]
        place += HEADER + length
        if kind in ENDS:
            record, parts = Record.FromString(parts), b""
            yield record


def run_of(file: Path) -> dict[str, Any]:
    """Return the name, the settings and the metrics of a run, as W&B shows them."""
    settings: dict[str, Any] = {}
    summary: dict[str, Any] = {}
    for record in records(file):
        if record.WhichOneof("record_type") == "run":
            settings["Name"] = record.run.display_name
        updates = (*record.run.config.update, *record.config.update)
        settings |= {update.key: json.loads(update.value_json) for update in updates if update.key}
        summary |= {x.key: json.loads(x.value_json) for x in record.summary.update if x.key}
    return settings | {key: summary[key] for key in METRICS if key in summary}


def rows(runs: list[dict[str, Any]], columns: list[str]) -> Iterator[list[str]]:
    """Yield a row for each arm with the means over its runs, followed by the rows of its runs."""
    for arm in sorted({run["arm"] for run in runs}):
        members = sorted((run for run in runs if run["arm"] == arm), key=lambda run: run["seed"])
        yield [f"arm: {arm}  ({len(members)} runs)", *_cells(members, columns)]
        for run in members:
            yield [f"    {run['Name']}", *_cells([run], columns)]


def _cells(runs: list[dict[str, Any]], columns: list[str]) -> Iterator[str]:
    for key in columns:
        values = [run.get(key, "-") for run in runs]
        if all(isinstance(value, float) for value in values):
            yield f"{statistics.mean(values):.4g}"
        else:
            yield str(values[0]) if len({*map(str, values)}) == 1 else "-"


def picture(runs: list[dict[str, Any]]) -> Figure:
    """Return the table as a picture; the rows of arms are bold."""
    columns = [*dict.fromkeys(key for run in runs for key in run if key not in HIDDEN)]
    lines = [["Name", *columns], *rows(runs, columns)]
    width = NAME + COLUMN * len(columns)
    figure = Figure(figsize=(width, ROW * len(lines)))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, width), ylim=(len(lines), 0))
    axes.axis("off")
    for y, line in enumerate(lines):
        is_arm, is_head = line[0].startswith("arm:"), y == 0
        if is_arm or is_head:
            axes.axhspan(y, y + 1, color="#dfe3e8" if is_head else "#f1f5f9", zorder=0)
        for column, text in enumerate(line):
            x = 0.1 + (NAME + COLUMN * (column - 1)) * (column > 0)
            weight = "bold" if is_arm or is_head else "normal"
            axes.text(x, y + 0.5, text, va="center", fontsize=9, weight=weight)
        axes.axhline(y + 1, color="#d5dae1", linewidth=0.6)
    return figure


if __name__ == "__main__":
    files = sorted(Path(sys.argv[1]).glob("runs/*/wandb/offline-run-*/*.wandb"))
    picture([run for run in map(run_of, files) if run.get("arm")]).savefig(PICTURE, dpi=100)
