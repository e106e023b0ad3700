"""Write the files of a verdict on runs that this package did not make: verdict.json, report.md,
report.html and the figure.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from ablate.phrases import text
from ablate.record.files import check_writable, seal, write_json, write_text
from ablate.referee.trust import UNKNOWN
from ablate.referee.wording import number

if TYPE_CHECKING:
    from ablate.referee.verdict import ClaimVerdict, Verdict

FIGURE = "runs_and_effects"


def write(verdict: "Verdict", folder: Path) -> None:
    """Write all files of a verdict into a folder.

    Raises:
        UserError: the folder cannot be written.
    """
    from ablate.report.draw.style import svg  # imports matplotlib
    from ablate.report.page import page

    check_writable(folder)
    report = "\n".join(_report(verdict)) + "\n"
    picture = svg(verdict.plot())
    write_json(folder / "verdict.json", seal(verdict.to_dict()))
    write_text(folder / "figures" / f"{FIGURE}.svg", picture)
    write_text(folder / "report.md", report)
    name = verdict.question.design.name
    write_text(folder / "report.html", page(name, report, {FIGURE: picture}))


def _report(verdict: "Verdict") -> Iterator[str]:
    design = verdict.question.design
    yield f"# {text(design.name)}\n"
    yield f"Runs: {text(verdict.runs.table.source)}. Metric: {text(design.metric)}, "
    yield f"{design.better} is better.\n"
    if len(verdict.claims) > 1:
        yield f"**{text(verdict.headline)}**\n"
    for claim in verdict.claims:
        yield from _claim(claim)
    yield f"![Every run, and the effects](figures/{FIGURE}.svg)\n"
    yield "## How far to trust this\n"
    yield f"- {text(verdict.registered.sentence)}"
    yield from (f"- {text(sentence)}" for sentence in verdict.trust if sentence != UNKNOWN)
    yield f"- {UNKNOWN}"


def _claim(claim: "ClaimVerdict") -> Iterator[str]:
    measured = claim.judged.measured
    group = f", {measured.group}" if measured.group else ""
    yield f"## {text(f'{measured.claim.id}{group}')}\n"
    if measured.claim.statement:
        yield f"{text(measured.claim.statement)}\n"
    yield f"**{text(claim.headline)}**\n"
    yield f"{text(claim.evidence)}\n"
    if measured.arms:
        yield "| arm | runs | without value | mean | standard deviation |"
        yield "| --- | ---: | ---: | ---: | ---: |"
        yield from (f"| {' | '.join(map(text, row))} |" for row in _arms(claim))
        yield ""
    yield from (f"- {text(sentence)}" for sentence in (*claim.details, *claim.trust))
    yield ""


def _arms(claim: "ClaimVerdict") -> list[list[str]]:
    """Return table rows, one for each arm: label, runs, runs without value, mean, standard
    deviation.
    """
    rows = []
    for arm in claim.to_dict(1.0)["arms"]:
        sd = arm["sd"]
        mean = "-" if arm["mean"] is None else number(arm["mean"], sd or 0.0)
        sd_text = "-" if sd is None else f"{sd:.3g}"
        rows.append([arm["arm"], f"{arm['runs']:,}", f"{arm['without_value']:,}", mean, sd_text])
    return rows
