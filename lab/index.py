"""Write a table with the verdicts of all experiments in a folder to the folder's README.md."""

import argparse
from pathlib import Path
from urllib.parse import quote

from ablate.cli.parser import Parser
from ablate.config.labels import option_label
from ablate.errors import UserError
from ablate.evidence.types import Entry, Verdict
from ablate.phrases import each_of, grouped, listed, text
from ablate.record.files import write_text, writing
from ablate.verdict.decision import at_each_budget, read_verdict, was_trained
from ablate.verdict.replication import RULE, Replication, asked_again, read_contest
from ablate.words.answer import evidence_line
from ablate.words.opening import graded
from lab.command import main

FIRST = "reading the verdicts"
HEAD = ["Experiment", "Claim", "Answer", "Evidence"]
TITLE = (
    "# Answers\n\nOne row for each claim and budget. The report of an experiment says how it was "
    "tested.\n\n"
)
FRESH = "; fresh seeds: "
AGAIN = "Fresh seeds, where `ablate reproduce` asked them (docs/explanation/statistics.md). "


def add_arguments(parser: Parser) -> None:
    """Declare the folder of the experiments."""
    parser.add_argument(
        "folder",
        metavar="FOLDER",
        type=Path,
        nargs="?",
        default="experiments",
        help="folder of the experiments (default: experiments)",
    )


def run(arguments: argparse.Namespace) -> None:
    """Write the table, and print its path.

    Raises:
        UserError: no experiment in the folder has a verdict, or the table cannot be written.
    """
    path = arguments.folder.expanduser() / "README.md"
    text = index(path.parent)
    with writing(path):
        write_text(path, text)
    print(f"table: {path}")


def index(folder: Path) -> str:
    """Return the table of all experiments as Markdown, with a heading.

    Raises:
        UserError: no experiment in the folder has a verdict, or a verdict is damaged.
    """
    paths = sorted(folder.glob("*/verdict.json"))
    if not paths:
        raise UserError(f"{folder} has no experiment with a verdict.json")
    rows = [row for path in paths for row in _rows(read_verdict(path), path)]
    rule = f"{AGAIN}{RULE}\n\n" if any(FRESH in row[2] for row in rows) else ""
    return f"{TITLE}{rule}" + "".join(
        f"| {' | '.join(row)} |\n" for row in (HEAD, ["---"] * len(HEAD), *rows)
    )


def _rows(verdict: Verdict, path: Path) -> list[list[str]]:
    """Return the four cells of each claim of an experiment.

    The first row also names the experiment with its corpus, model and number of steps.
    """
    name, regime = verdict["experiment"], verdict["regime"]
    trained = f"{grouped(regime['steps'])} steps" if was_trained(verdict) else "not trained"
    corpora = listed([option_label("data", name) for name in each_of(regime["data"])])
    place = f"{corpora}, model {listed(each_of(regime['model']))}, {trained}"
    first = f"[{text(name)}]({quote(path.parent.name)}/report.md): {text(place)}"
    contest = read_contest(path.parent)
    return [
        [first if number == 0 else "", _stated(claim), *_answer(claim, contest)]
        for number, claim in enumerate(at_each_budget(verdict["claims"]))
    ]


def _stated(claim: Entry) -> str:
    after = f" (after {grouped(claim['steps'])} steps)" if "steps" in claim else ""
    reading = f" *{text(claim['reading'])}*" if claim.get("reading") else ""
    return text(claim["statement"]) + reading + after


def _answer(claim: Entry, contest: list[Replication]) -> list[str]:
    """Return two cells: the answer with the result of a replication, and the line of evidence."""
    exploratory = ", exploratory" if claim.get("exploratory") else ""
    again = asked_again(claim, contest)
    fresh = f"{FRESH}{again['replication']}" if again else ""
    answer = graded(claim["verdict"], claim.get("grade", ""))
    return [f"{answer}{exploratory}{fresh}", text(evidence_line(claim, claim))]


if __name__ == "__main__":
    main("lab.index")
