"""Join the pieces of a study that machines without a shared folder have made.

A piece is the folder of a finished sweep, or evidence; `part=true` makes a sweep a piece without a
verdict of its own. No run may be in two pieces, and the same code must have made all of them. A
sweep never reads joined evidence, but `without_runs=FOLDER` leaves its runs out.

example:
  ablate join piece_a piece_b to=joined
  ablate judge joined
"""

import argparse
from pathlib import Path

from ablate.cli.parser import PATH, Parser
from ablate.errors import UserError

FIRST = "reading the pieces"


def add_arguments(parser: Parser) -> None:
    """Declare the pieces, and where the evidence goes."""
    parser.add_argument(
        "piece", metavar="PIECE", nargs="+", help="folder of a sweep of the study, or of evidence"
    )
    parser.add_key("to", "folder that the joined evidence is written to", PATH, required=True)


def run(arguments: argparse.Namespace) -> None:
    """Write the joined evidence.

    Raises:
        UserError: the pieces do not belong together, one is damaged, or the folder has evidence.
    """
    from ablate.evidence.analysis_log import BOOK, write_lines
    from ablate.evidence.join import Piece, is_part, join, seeds_told
    from ablate.evidence.seal import ABOUT
    from ablate.record.files import check_links, writing

    target = arguments.to
    if (target / ABOUT).exists():
        raise UserError(f"to={target}: there is evidence in this folder; choose another")
    folders = [Path(piece).expanduser() for piece in arguments.piece]
    for folder in folders:
        check_links(folder, folder)
    evidence, lines = join([Piece.read(folder) for folder in folders])
    check_links(target, target)
    with writing(target):
        evidence.save(target)
        write_lines(lines, target / BOOK)
    print(f"{target}: {len(evidence.runs)} runs, {seeds_told(evidence)}")
    if is_part(evidence):
        print(f"The missing runs: the command of the study with part=true without_runs={target}")
    else:
        print(f"To its verdict: ablate judge {target}")
