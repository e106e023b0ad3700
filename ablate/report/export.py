"""Export the tables of a report for a paper: each table as Markdown, LaTeX (booktabs) and CSV."""

import csv
import io
import re
from collections.abc import Callable
from pathlib import Path

from ablate.evidence.folder import Evidence
from ablate.evidence.types import Verdict
from ablate.phrases import text
from ablate.record.files import write_text
from ablate.report.content import citation
from ablate.report.tables import Table, comparable

LATEX = str.maketrans(
    {
        **{letter: rf"\{letter}" for letter in "&%$#_{}"},
        **{"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"},
        **{"±": r"$\pm$", "<": "$<$", ">": "$>$", "²": "$^2$", "×": r"$\times$"},
    }
)
MINUS = re.compile(r"(?<![\w$.])-(?=\d)")


def write_tables(evidence: Evidence, verdict: Verdict, folder: Path) -> list[Path]:
    """Write every table that compares claims or arms, and return the paths of the files.

    Args:
        evidence: runs and study of the experiment.
        verdict: the verdict on its claims.
        folder: target folder, which is created.
    """
    cited = citation(verdict)
    paths = []
    for name, table in comparable(evidence, verdict).items():
        for ending, write in FORMATS.items():
            path = folder / f"{name}.{ending}"
            write_text(path, write(table, cited))
            paths.append(path)
    return paths


def as_markdown(table: Table, cited: str) -> str:
    """Return a table as Markdown, followed by the line for citing the table."""
    rows = [[text(cell) for cell in row] for row in (table.head, *table.rows)]
    lines = [rows[0], table.rule, *rows[1:]]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines) + f"\nSource: {text(cited)}.\n"


def as_latex(table: Table, cited: str) -> str:
    """Return a table as a LaTeX tabular for the package booktabs, with the line for citing the
    table.
    """
    columns = "".join("l" if i < table.words else "r" for i in range(len(table.head)))
    head, *rows = (" & ".join(map(_latex, cells)) + r" \\" for cells in (table.head, *table.rows))
    body = [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", head, r"\midrule", *rows]
    return "\n".join([f"% Source: {cited}", *body, r"\bottomrule", r"\end{tabular}"]) + "\n"


def _latex(cell: str) -> str:
    """Return a cell with the special characters of LaTeX escaped."""
    return MINUS.sub("$-$", cell.translate(LATEX))


def as_csv(table: Table, _: str) -> str:
    """Return a table as CSV with a header."""
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows([table.head, *table.rows])
    return file.getvalue()


FORMATS: dict[str, Callable[[Table, str], str]] = {
    "md": as_markdown,
    "tex": as_latex,
    "csv": as_csv,
}
