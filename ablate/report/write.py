"""Write the files of a report: verdict.json, report.md, figures/*.svg; and its tables
for a paper, each as Markdown, LaTeX (booktabs) and CSV.

The same evidence gives the same bytes, so a committed report can be checked by writing it again.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from ablate.evidence.folder import Evidence
from ablate.evidence.types import Verdict
from ablate.phrases import code, grouped, text
from ablate.progress import track
from ablate.record.files import finite, seal, write_json, write_text
from ablate.report.content import citation, content
from ablate.report.draw.style import svg
from ablate.report.figures import SECTIONS, figures
from ablate.report.tables import Table, comparable
from ablate.verdict.conclude import conclude
from ablate.verdict.replication import read_contest
from ablate.words.answer import with_words

if TYPE_CHECKING:
    from pandas import DataFrame

DIGITS = 10
LATEX = str.maketrans({"±": r"$\pm$", "<": "$<$", ">": "$>$", "²": "$^2$", "×": r"$\times$"})
MINUS = re.compile(r"(?<![\w$.])-(?=\d)")

TEMPLATES = Environment(
    loader=PackageLoader("ablate.report"),
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
    autoescape=False,  # Markdown is escaped by `text` and `code`
)
TEMPLATES.filters |= {"text": text, "code": code, "grouped": grouped}


def write_report(evidence: Evidence, folder: Path) -> Verdict:
    """Judge the claims of an experiment, write the report into the folder, and return the
    verdict.
    """
    return write_files(evidence, conclude(evidence), folder)


def write_files(evidence: Evidence, verdict: Verdict, folder: Path) -> Verdict:
    """Write the verdict, the figures and the report into a folder; return the content of
    verdict.json without the digest that seals the file.

    Replications are read from contest.json in the folder. Figures of an earlier report are deleted.

    Raises:
        UserError: the folder's contest.json is damaged.
    """
    # the report shows exactly the numbers of verdict.json
    verdict = with_words(_rounded(finite(verdict)))
    drawn = list(figures(evidence, verdict))
    counted = track(drawn, "drawing figures", len(drawn))
    pictures = {figure.name: svg(figure.picture) for figure in counted}
    sections = {name: [figure for figure in drawn if figure.section == name] for name in SECTIONS}
    report = markdown(content(evidence, verdict, sections, read_contest(folder)))
    write_json(folder / "verdict.json", seal(verdict))
    write_text(folder / "report.md", report)
    for name, picture in pictures.items():
        write_text(folder / "figures" / f"{name}.svg", picture)
    for path in (folder / "figures").glob("*.svg"):
        if path.stem not in pictures:
            path.unlink()
    return verdict


def markdown(content: dict[str, object]) -> str:
    """Return the report as Markdown; `content` has the variables of the template."""
    written = TEMPLATES.get_template("report.md.j2").render(content)
    return re.sub(r"\n{3,}", "\n\n", written).strip() + "\n"


def _rounded(value: Any) -> Any:
    """Return nested data with numbers rounded to DIGITS digits; further digits differ between
    CPUs.
    """
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


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
    import pandas  # takes half a second

    return pandas.DataFrame(table.rows, columns=table.head)


FORMATS: dict[str, Callable[[Table, str], str]] = {
    "md": as_markdown,
    "tex": as_latex,
    "csv": as_csv,
}
