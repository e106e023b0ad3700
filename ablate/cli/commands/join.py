"""Join the pieces of a study that was run on machines without a shared folder.

A piece is the folder of a finished sweep, or of evidence; a sweep with `part=true` is a piece
without a verdict. No run may be in two pieces, and all must be made with the same code. Sweeps do
not read joined evidence, but with `without_runs=FOLDER` a sweep skips the runs of that folder.

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
    """Declare the pieces, and the folder of the joined evidence."""
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
    from ablate.progress import track
    from ablate.record.files import check_links, writing

    target = arguments.to
    if (target / ABOUT).exists():
        raise UserError(f"to={target}: this folder already has evidence; choose another folder")
    folders = [Path(piece).expanduser() for piece in arguments.piece]
    for folder in folders:
        check_links(folder, folder)
    pieces = [Piece.read(folder) for folder in track(folders, "reading pieces", len(folders))]
    evidence, lines = join(pieces)
    check_links(target, target)
    with writing(target):
        evidence.save(target)
        write_lines(lines, target / BOOK)
    print(f"{target}: {len(evidence.runs)} runs, {seeds_told(evidence)}")
    if is_part(evidence):
        print(
            "To run the missing runs, repeat the command of the study with part=true "
            f"without_runs={target}"
        )
    else:
        print(f"For its verdict, run: ablate judge {target}")
