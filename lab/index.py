"""Write common questions and the verdicts of all experiments in a folder to its README.md."""

import argparse
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from ablate.cli.parser import Parser
from ablate.config.labels import experiment_title, option_label
from ablate.ledger.text import questions, read_entries
from ablate.ledger.verdicts import read_claims
from ablate.phrases import each_of, grouped, interpretation, listed, text
from ablate.record.files import write_text
from ablate.verdict.stored import (
    RULE,
    Replication,
    asked_again,
    read_contest,
    read_verdict,
    was_trained,
)
from ablate.verdict.types import Entry, Verdict
from ablate.words.answer import compared, effect_text, short_answer
from lab.command import main

FIRST = "reading the verdicts"
HEAD = ["Experiment", "Setting", "Claims"]
TITLE = (
    "# Answers\n\n`ablate ledger WORDS` searches questions and claims. `ablate ledger ID` shows "
    "the evidence on a claim; [a rule](../docs/explanation/headlines.md) combines the answers of "
    "several experiments.\n\n"
)
QUESTION = "- **{}** {} ({})\n"  # with its answer and its claims
TABLES = (
    "\n## Experiments\n\nOne row for each experiment, grouped by subject. The report of an "
    "experiment has the evidence for each answer ([what the answers "
    "mean](../docs/explanation/verdicts.md)). In italics: difference, confidence "
    "interval (CI) and margin. Holm's correction can make an answer weaker than its interval.\n\n"
)
OTHER = "Other questions"  # group of an experiment whose claims no document makes
AGAIN = "\n## Fresh seeds\n\n`ablate reproduce` tested some experiments again with fresh seeds. "


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
    """Write the table, and print its path."""
    path = arguments.folder.expanduser() / "README.md"
    write_text(path, index(path.parent))
    print(f"table: {path}")


def index(folder: Path) -> str:
    """Return as Markdown common questions with their answers, and the tables of all experiments,
    one for each group of claims.

    Raises:
        UserError: a verdict is damaged.
    """
    paths = sorted(folder.glob("*/verdict.json"))
    group_of = {claim.id: claim.group for claim in read_claims()}
    tables: dict[str, list[list[str]]] = {group: [] for group in (*group_of.values(), OTHER)}
    contests = [read_contest(path.parent) for path in paths]
    for path, contest in zip(paths, contests, strict=True):
        verdict = read_verdict(path)
        groups = Counter(group_of.get(claim["id"], OTHER) for claim in verdict["claims"])
        listed_groups = [group for group, _ in groups.most_common() if group != OTHER]
        tables[(listed_groups or [OTHER])[0]].append(_row(verdict, path, contest))
    parts = {group: _table(group, rows) for group, rows in tables.items() if rows}
    anchors = {group: re.sub("[^a-z -]", "", group.lower()).replace(" ", "-") for group in parts}
    contents = "".join(f"- [{group}](#{anchor})\n" for group, anchor in anchors.items())
    rule = f"{AGAIN}{RULE}\n" if any(contests) else ""
    asked = "".join(
        QUESTION.format(text(question), text(answer), "; ".join(map(text, claims)))
        for question, answer, *claims in questions(read_entries(folder))
    )
    return "\n".join([f"{TITLE}{asked}{TABLES}{contents}", *parts.values()]) + rule


def _table(group: str, rows: list[list[str]]) -> str:
    lines = "".join(f"| {' | '.join(row)} |\n" for row in (HEAD, ["---"] * len(HEAD), *rows))
    return f"## {group}\n\n{lines}"


def _row(verdict: Verdict, path: Path, contest: list[Replication]) -> list[str]:
    """Return the cells of an experiment: its title, its setting, and its claims with their
    answers.
    """
    name, regime = verdict["experiment"], verdict["regime"]
    trained = f"{grouped(regime['steps'])} steps" if was_trained(verdict) else "not trained"
    corpora = listed([option_label("data", name) for name in each_of(regime["data"])])
    setting = f"{corpora}, model {listed(each_of(regime['model']))}, {trained}"
    link = f"[{text(experiment_title(name).title or name)}]({quote(path.parent.name)}/report.md)"
    return [link, text(setting), "<br>".join(_answers(verdict["claims"], contest))]


def _answers(claims: list[Entry], contest: list[Replication]) -> Iterator[str]:
    """Yield the answer to each claim, the claim, and the answer that fresh seeds gave."""
    for claim in claims:
        meaning, again = interpretation(claim, claims), asked_again(claim, contest)
        remarks = [f"interpretation: {text(meaning)}"] if meaning else []
        remarks += ["exploratory"] if claim["exploratory"] else []
        remarks += [f"fresh seeds: {again['replication']}"] if again else []
        remark = (f" ({'; '.join(remarks)})" if remarks else "") + _effect(claim)
        yield f"**{short_answer(claim, claim)}.** {text(claim['statement'])}{remark}"


def _effect(claim: Entry) -> str:
    """Return the effect of a claim, its interval and margin; "" if it compares no two means."""
    if claim["kind"] in ("exact", "stability", "trend") or claim["effect"] is None:
        return ""
    ends = claim.get("interval_equivalence")  # has both tails of alpha
    level = 1 - (2 if ends else 1) * claim["alpha"]
    effect = effect_text(claim, claim["effect"], ends or claim["interval"], level)
    margin = f", margin {claim['margin']:,.10g}" if claim["margin"] else ""
    return f" *{text(f'{compared(claim)} {effect}{margin}')}*"


if __name__ == "__main__":
    main("lab.index")
