"""`python -m ablate.report.index FOLDER`: the verdicts of all experiments in a folder, as a table.

It is written to FOLDER/README.md, from the verdict.json of every experiment.
"""

import json
import sys
from pathlib import Path
from typing import Any

from ablate.errors import UserError
from ablate.report.tables import Table, graded
from ablate.tracking.files import write_text
from ablate.words import NOTHING, interval, measure, text

HEAD = ["experiment", "claim", "verdict", "effect", "interval", "margin", "pairs"]
TITLE = "# Verdicts\n\nOne row per claim; the report of an experiment says how it was tested.\n\n"


def main() -> None:
    """Command line: exit status 0 done, 2 the user's mistake."""
    try:
        if len(sys.argv) != 2:
            raise UserError("it takes one folder, that of the experiments")
        folder = Path(sys.argv[1])
        write_text(folder / "README.md", index(folder))
    except UserError as error:
        print(f"ablate.report.index: {error}", file=sys.stderr)
        sys.exit(2)


def index(folder: Path) -> str:
    """Return the table of all experiments as Markdown.

    Raises:
        UserError: no experiment in the folder has a verdict.
    """
    paths = sorted(folder.glob("*/verdict.json"))
    if not paths:
        raise UserError(f"{folder} has no experiment with a verdict.json")
    verdicts = [json.loads(path.read_text(encoding="utf-8")) for path in paths]
    rows = [row for verdict in verdicts for row in _rows(verdict)]
    table = Table(HEAD, rows, words=3)
    return TITLE + "".join(f"| {' | '.join(row)} |\n" for row in (table.head, table.rule, *rows))


def _rows(verdict: dict[str, Any]) -> list[list[str]]:
    """One row per claim; the first names the experiment and where it was run."""
    name, regime = verdict["experiment"], verdict["regime"]
    trained = f"{regime['steps']:,} updates" if regime["test_sentences"] else "not trained"
    place = f"{regime['data']}, {regime['model']}, {trained}"
    first = f"[{name}]({name}/report.md): {text(place)}"
    return [
        [first if number == 0 else "", text(claim["statement"]), *_numbers(claim)]
        for number, claim in enumerate(verdict["claims"])
    ]


def _numbers(claim: dict[str, Any]) -> list[str]:
    exploratory = ", exploratory" if claim.get("exploratory") else ""
    verdict = graded(claim) + exploratory
    if claim["kind"] == "exact":
        return [verdict, "exact", NOTHING, NOTHING, str(claim.get("pairs") or NOTHING)]
    metric = measure(claim["metric"])
    effect = f"{metric.say(claim['effect'], sign=True)} {text(metric.name)}"
    margin = f"{claim['margin']:g}" if claim["margin"] else NOTHING
    return [verdict, effect, interval(metric, claim["interval"]), margin, str(claim["pairs"])]


if __name__ == "__main__":
    main()
