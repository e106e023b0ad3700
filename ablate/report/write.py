"""Write the files of a report: verdict.json, report.md, figures/*.svg; and its tables
for a paper, each as Markdown, LaTeX (booktabs) and CSV.

The same evidence gives the same bytes, so a committed report can be checked by writing it again.
"""

import json
import re
from collections.abc import Sequence
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from pandas import DataFrame

from ablate.config.labels import experiment_title
from ablate.console import track
from ablate.evidence.folder import Evidence
from ablate.phrases import code, grouped, interpretation, text
from ablate.record.files import finite, seal, write_json, write_text
from ablate.report import content
from ablate.report.draw import svg
from ablate.report.figures import Figure, figures
from ablate.verdict.conclude import conclude
from ablate.verdict.kinds import KINDS
from ablate.verdict.stored import RULE, Replication, asked_again, read_contest
from ablate.verdict.types import Verdict
from ablate.words import answer, reasons

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
TEMPLATES.filters |= {"text": text, "code": code, "grouped": grouped, "table": content.markdown}
TEMPLATES.globals |= {"content": content, "words": answer, "reasons": reasons}
TEMPLATES.globals |= {"title_of": experiment_title, "kinds": KINDS, "rule_of_fresh_seeds": RULE}


def write_report(evidence: Evidence, folder: Path, verdict: Verdict | None = None) -> Verdict:
    """Write the verdict, the figures and the report into a folder; return the content of
    verdict.json without the digest that seals the file.

    Replications are read from contest.json in the folder. Figures of an earlier report are deleted.

    Args:
        evidence: runs and study of the experiment.
        folder: target folder, which is created.
        verdict: the verdict on the claims, if they are judged already.

    Raises:
        UserError: the folder's contest.json is damaged.
    """
    # the report shows exactly the numbers of verdict.json
    # further digits differ between CPUs
    judged = finite(verdict or conclude(evidence))
    verdict = answer.with_words(json.loads(json.dumps(judged), parse_float=_rounded))
    drawn = list(figures(evidence, verdict))
    counted = track(drawn, "drawing figures", len(drawn))
    pictures = {figure.name: svg(figure.picture) for figure in counted}
    report = markdown(evidence, verdict, drawn, read_contest(folder))
    write_json(folder / "verdict.json", seal(verdict))
    write_text(folder / "report.md", report)
    for name, picture in pictures.items():
        write_text(folder / "figures" / f"{name}.svg", picture)
    for path in (folder / "figures").glob("*.svg"):
        if path.stem not in pictures:
            path.unlink()
    return verdict


def markdown(
    evidence: Evidence,
    verdict: Verdict,
    drawn: Sequence[Figure] = (),
    contest: Sequence[Replication] = (),
) -> str:
    """Return the report as Markdown.

    Args:
        evidence: runs and study of the experiment.
        verdict: the verdict on the claims.
        drawn: the figures of the report.
        contest: replications of the experiment with new seeds.
    """
    claims = verdict["claims"]
    written = TEMPLATES.get_template("report.md.j2").render(
        evidence=evidence,
        verdict=verdict,
        answers=[
            (claim, title, interpretation(claim, claims), asked_again(claim, contest))
            for claim, title in zip(claims, content.titles(claims), strict=True)
        ],
        figures={name: [f for f in drawn if f.section == name] for name in ("answers", "runs")},
    )
    return re.sub(r"\n{3,}", "\n\n", written).strip() + "\n"


def _rounded(number: str) -> float:
    return float(f"{float(number):.{DIGITS}g}")


def write_tables(evidence: Evidence, verdict: Verdict, folder: Path) -> None:
    """Write every table that compares claims or arms, with the line for citing the report.

    Args:
        evidence: runs and study of the experiment.
        verdict: the verdict on its claims.
        folder: target folder, which is created.
    """
    cited = content.citation(verdict)
    for name, table in content.comparable(evidence, verdict).items():
        write_text(folder / f"{name}.md", f"{content.markdown(table)}\nSource: {text(cited)}.\n")
        write_text(folder / f"{name}.tex", f"% Source: {cited}\n{latex(table)}")
        write_text(folder / f"{name}.csv", table.to_csv(index=False, lineterminator="\n"))


def latex(table: DataFrame) -> str:
    """Return a table as a LaTeX tabular for the package booktabs."""
    return MINUS.sub("$-$", table.to_latex(index=False, escape=True).translate(LATEX))
