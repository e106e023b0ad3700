"""Write the verdicts of all experiments in a folder as a table, to its README.md."""

import argparse
from pathlib import Path
from urllib.parse import quote

from ablate.cli.parser import Parser
from ablate.errors import UserError
from ablate.evidence.types import Entry, Verdict
from ablate.metric.table import NOTHING, metric_of
from ablate.phrases import interval, text
from ablate.record.files import write_text, writing
from ablate.report.tables import Table, graded
from ablate.verdict.decision import at_each_budget, is_exact, read_verdict, was_trained
from ablate.verdict.replication import RULE, Replication
from ablate.verdict.replication_file import asked_again, read_contest
from lab.command import main

FIRST = "reading the verdicts"
HEAD = ["experiment", "claim", "verdict", "effect", "interval", "margin", "pairs"]
TITLE = "# Verdicts\n\nOne row per claim; the report of an experiment says how it was tested.\n\n"
FRESH = "; fresh seeds: "
AGAIN = "Fresh seeds, where `ablate contest` asked them (docs/statistics.md). "


def add_arguments(parser: Parser) -> None:
    """Declare the folder."""
    parser.add_argument(
        "folder",
        metavar="FOLDER",
        type=Path,
        nargs="?",
        default="experiments",
        help="folder of the experiments (default: experiments)",
    )


def run(arguments: argparse.Namespace) -> None:
    """Write the table.

    Raises:
        UserError: no experiment in the folder has a verdict, or the table cannot be written.
    """
    path = arguments.folder.expanduser() / "README.md"
    text = index(path.parent)
    with writing(path):
        write_text(path, text)
    print(f"table: {path}")


def index(folder: Path) -> str:
    """Return the table of all experiments as Markdown.

    Raises:
        UserError: no experiment in the folder has a verdict, or one is damaged.
    """
    paths = sorted(folder.glob("*/verdict.json"))
    if not paths:
        raise UserError(f"{folder} has no experiment with a verdict.json")
    rows = [row for path in paths for row in _rows(read_verdict(path), path)]
    table = Table(HEAD, rows, words=3)
    rule = f"{AGAIN}{RULE}\n\n" if any(FRESH in row[2] for row in rows) else ""
    return f"{TITLE}{rule}" + "".join(
        f"| {' | '.join(row)} |\n" for row in (table.head, table.rule, *rows)
    )


def _rows(verdict: Verdict, path: Path) -> list[list[str]]:
    """One row per claim; the first names the experiment and where it was run."""
    name, regime = verdict["experiment"], verdict["regime"]
    trained = f"{regime['steps']:,} updates" if was_trained(verdict) else "not trained"
    place = f"{regime['data']}, {regime['model']}, {trained}"
    first = f"[{text(name)}]({quote(path.parent.name)}/report.md): {text(place)}"
    contest = read_contest(path.parent)
    return [
        [first if number == 0 else "", _stated(claim), *_numbers(claim, contest)]
        for number, claim in enumerate(at_each_budget(verdict["claims"]))
    ]


def _stated(claim: Entry) -> str:
    after = f" (after {claim['steps']:,} updates)" if "steps" in claim else ""
    reading = f" *{text(claim['reading'])}*" if claim.get("reading") else ""
    return text(claim["statement"]) + reading + after


def _numbers(claim: Entry, contest: list[Replication]) -> list[str]:
    exploratory = ", exploratory" if claim.get("exploratory") else ""
    again = asked_again(claim, contest)
    verdict = graded(claim) + exploratory + (f"{FRESH}{again['replication']}" if again else "")
    if is_exact(claim):
        return [verdict, "exact", NOTHING, NOTHING, text(claim.get("pairs") or NOTHING)]
    metric = metric_of(claim["metric"])
    effect = f"{metric.say(claim['effect'], sign=claim['kind'] != 'exact')} {text(metric.name)}"
    margin = f"{claim['margin']:g}" if claim["margin"] else NOTHING
    return [verdict, effect, interval(metric, claim["interval"]), margin, text(claim["pairs"])]


if __name__ == "__main__":
    main("lab.index")
