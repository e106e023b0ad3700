"""Print the stored results of the benchmarks as a Markdown table.

python -m lab.bench.table
"""

from collections.abc import Sequence

from lab.bench.command import exit_on_user_error
from lab.bench.record import Row, machine, read

HEAD = ("what", "ours", "other", "unit", "ours / other", "of which", "machine")


def table(rows: Sequence[Row]) -> str:
    """Return a Markdown table with one line per row; letters stand for machines.

    The lines below the table explain the letters.
    """
    machines = list(dict.fromkeys(row["machine"] for row in rows))
    letters = {where: chr(ord("A") + i) for i, where in enumerate(machines)}
    lines = [_line(HEAD), _line(("---", "---:", "---:", "---", "---:", "---", "---"))]
    lines += [_line((*_cells(row), letters[row["machine"]])) for row in rows]
    recorded = {where: "" if where == machine() else " (recorded there)" for where in letters}
    lines += ["", *(f"{letter}: {where}{recorded[where]}" for where, letter in letters.items())]
    return "\n".join(lines)


def number(value: float) -> str:
    """Return a number with at least three significant digits, such as 12,345, 67.8 or 0.0123."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _cells(row: Row) -> tuple[str, ...]:
    spread = f"{row['ratio']:.2f} ({row['ratio_min']:.2f} to {row['ratio_max']:.2f})"
    settings = row.get("settings", "")  # rows of earlier versions have none
    return row["what"], number(row["ours"]), number(row["other"]), row["unit"], spread, settings


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


@exit_on_user_error
def main() -> None:
    """Print the table of lab/bench/results.json."""
    print(table(read()))


if __name__ == "__main__":
    main()
