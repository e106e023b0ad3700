"""Show the claims of the catalogue, with the answers of the experiments.

Answer common questions, and count the answers to the claims of each subject. With words or filters,
print the questions and the claims that match all of them; for a single claim, the size of each
effect and the report, too.

example:
  ablate ledger
  ablate ledger rotary
  ablate ledger modern_muon
"""

import argparse

from ablate.cli.parser import FOLDER, Parser, one_of
from ablate.errors import UserError

NO_CATALOGUE = (
    "no claims here: work in a clone of the repository of ablate, or name a folder of experiments "
    'of yours in pyproject.toml: catalogue = "FOLDER" below [tool.ablate]'
)
# headlines, and "tested" for a claim with any verdict
STATES = ("supported", "refuted", "mixed", "undecided", "not testable", "not tested", "tested")


def add_arguments(parser: Parser) -> None:
    """Declare the filters, and the folder from which verdicts are read."""
    parser.add_argument(
        "words",
        metavar="WORD",
        nargs="*",
        help="beginnings of words that a claim, its document and its experiments have; or its id",
    )
    parser.add_argument("--all", action="store_true", help="list every claim")
    parser.add_key("state", "claims with this answer", one_of(*STATES))
    parser.add_key("experiments", "folder of verdicts, instead of the catalogue", FOLDER)


def run(arguments: argparse.Namespace) -> None:
    """Print the summary, or the claims that match the filters.

    Raises:
        UserError: there are no claims, or no claim matches the filters.
    """
    from rich.text import Text

    from ablate.config import catalogue_root
    from ablate.errors import make_console
    from ablate.ledger.text import lines, pick, questions, read_entries, subjects, summary
    from ablate.phrases import listed

    entries = read_entries(arguments.experiments or catalogue_root())
    if not entries:
        raise UserError(NO_CATALOGUE)
    words = [word.strip("?.,") for text in arguments.words for word in text.split()]
    picked = pick(entries, arguments.state, words)
    answered = [] if arguments.state else [*questions(entries, words)]
    if not picked and not answered:
        missing = [word for word in words if not pick(entries, None, [word])]
        asked = listed(missing or [*words, *filter(None, [arguments.state])])
        raise UserError(f"none of the {len(entries)} claims contains {asked}; give other words")
    console = make_console()
    for question, answer, *claims in answered:
        console.print(Text.assemble((question, "bold"), f" {answer}"))
        console.print(Text("".join(f"    {claim}\n" for claim in claims), "dim"), soft_wrap=True)
    for line in lines(picked) if arguments.state or words or arguments.all else subjects(entries):
        console.print(line, soft_wrap=True)
    console.print()
    if len(picked) > 1:
        console.print("`ablate ledger ID` shows all verdicts on a claim.")
    for sentence in summary(picked, entries) if picked else ():
        console.print(Text(sentence), soft_wrap=True)
