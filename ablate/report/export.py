"""Export the tables of a report for a paper: each table as Markdown, LaTeX (booktabs) and CSV."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ablate.evidence.folder import Evidence
from ablate.evidence.types import Verdict
from ablate.phrases import text
from ablate.record.files import write_text
from ablate.report.content import citation
from ablate.report.tables import Table, comparable

if TYPE_CHECKING:
    from pandas import DataFrame

LATEX = str.maketrans({"±": r"$\pm$", "<": "$<$", ">": "$>$", "²": "$^2$", "×": r"$\times$"})
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
    return f"{table.markdown}\nSource: {text(cited)}.\n"


def as_latex(table: Table, cited: str) -> str:
    """Return a table as a LaTeX tabular for the package booktabs, with the line for citing the
    table.
    """
    columns = "l" * table.words + "r" * (len(table.head) - table.words)
    tabular = _frame(table).to_latex(index=False, escape=True, column_format=columns)
    return f"% Source: {cited}\n" + MINUS.sub("$-$", tabular.translate(LATEX))


def as_csv(table: Table, _: str) -> str:
    """Return a table as CSV with a header."""
    made: str = _frame(table).to_csv(index=False, lineterminator="\n")
    return made


def _frame(table: Table) -> "DataFrame":
    import pandas

    return pandas.DataFrame(table.rows, columns=table.head)


FORMATS: dict[str, Callable[[Table, str], str]] = {
    "md": as_markdown,
    "tex": as_latex,
    "csv": as_csv,
}
