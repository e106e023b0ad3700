"""Write the files of a report: verdict.json, report.md, report.html, figures/*.svg.

The same evidence gives the same bytes, so a committed report can be checked by writing it again.
"""

from pathlib import Path
from typing import Any

from ablate.config.titles import experiment_title
from ablate.evidence.folder import Evidence
from ablate.evidence.types import Verdict
from ablate.progress import track
from ablate.record.files import clear_unfinished, finite, seal, write_json, write_text
from ablate.report.content import content
from ablate.report.draw.style import svg
from ablate.report.figures import SECTIONS, figures
from ablate.report.page import markdown, page
from ablate.verdict.conclude import conclude
from ablate.verdict.replication_file import read_contest

DIGITS = 10


def write_report(evidence: Evidence, folder: Path) -> Verdict:
    """Judge the claims of an experiment, write the report into the folder, and return the
    verdict.
    """
    return write_files(evidence, conclude(evidence), folder)


def write_files(evidence: Evidence, verdict: Verdict, folder: Path) -> Verdict:
    """Write the verdict, the figures, the report and the page into a folder; return the content of
    verdict.json without the digest that seals the file.

    Replications are read from contest.json in the folder. Figures of an earlier report are deleted.

    Raises:
        UserError: the folder's contest.json is damaged.
    """
    verdict = _rounded(finite(verdict))  # the report shows exactly the numbers of verdict.json
    drawn = list(figures(evidence, verdict))
    counted = track(drawn, "drawing figures", len(drawn))
    pictures = {figure.name: svg(figure.picture) for figure in counted}
    sections = {name: [figure for figure in drawn if figure.section == name] for name in SECTIONS}
    report = markdown(content(evidence, verdict, sections, read_contest(folder)))
    for written in (folder, folder / "figures"):
        clear_unfinished(written)
    write_json(folder / "verdict.json", seal(verdict))
    write_text(folder / "report.md", report)
    title = experiment_title(verdict["experiment"]).title or verdict["experiment"]
    write_text(folder / "report.html", page(title, report, pictures))
    for name, picture in pictures.items():
        write_text(folder / "figures" / f"{name}.svg", picture)
    for path in (folder / "figures").glob("*.svg"):
        if path.stem not in pictures:
            path.unlink()
    return verdict


def _rounded(value: Any) -> Any:
    """Return nested data with numbers rounded to DIGITS digits; further digits differ between
    CPUs.
    """
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value
