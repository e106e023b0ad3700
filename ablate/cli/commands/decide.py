"""Decide on a candidate of a campaign: keep it, discard it, or run more seeds.

A campaign compares candidates, one after the other, with a baseline. A candidate that is kept
becomes the new baseline. All decisions share one error budget. docs/howto/referee.md has the file
format and an example of a loop.

example:
  ablate decide campaign.yaml --candidate swiglu
"""

import argparse
import json
from pathlib import Path

from ablate.cli.parser import Parser

FIRST = "reading the campaign"


def add_arguments(parser: Parser) -> None:
    """Declare the campaign file and the candidate."""
    parser.add_argument("campaign", metavar="CAMPAIGN", type=Path, help="YAML file of the campaign")
    parser.add_argument(
        "--candidate", help="its name in the table; default: the latest without a decision"
    )
    parser.add_argument("--json", action="store_true", help="print the whole decision as JSON")


def run(arguments: argparse.Namespace) -> None:
    """Print the decision on the candidate, and write it to the journal beside the campaign file.

    Raises:
        UserError: a file is missing, malformed or changed, or there is no such candidate.
    """
    from ablate.referee.campaign import decide

    answer = decide(arguments.campaign, arguments.candidate)
    if arguments.json:
        print(json.dumps(answer, indent=1))
        return
    wanted = answer.get("runs_wanted")
    more = f"; train {wanted['runs']} more runs of {wanted['arm']}" if wanted else ""
    left = answer["error"]["left"]
    print(
        f"{answer['candidate']}: {answer['decision']}{more} (alpha left for decisions: {left:.4f})"
    )
