"""Join the parts of a study that was run on machines without a shared folder.

A part is the folder of a finished sweep, or a folder of evidence (the results of a sweep without
its weights). A sweep with `part=true` is a part without a verdict. No run may be in two parts, and
all parts must be made with the same code. A sweep does not use joined evidence to skip runs;
start it with `without_runs=FOLDER` to skip the runs in that folder.

example:
  ablate join part_a part_b to=joined
  ablate judge joined
"""

import argparse
from pathlib import Path

from ablate.cli.parser import PATH, Parser
from ablate.errors import UserError

FIRST = "reading the parts"


def add_arguments(parser: Parser) -> None:
    """Declare the command's arguments: the folders of the parts of a study, and the folder to which
    their joined results are written.
    """
    parser.add_argument(
        "piece", metavar="PART", nargs="+", help="folder of a sweep of the study, or of evidence"
    )
    parser.add_key("to", "folder that the joined evidence is written to", PATH, required=True)


def run(arguments: argparse.Namespace) -> None:
    """Join the results of all parts, and write them as one folder of evidence.

    Raises:
        UserError: the parts belong to different studies, a part is damaged, or the target folder
            already has evidence.
    """
    from ablate.evidence.join import Piece, join
    from ablate.evidence.looks import split_claims
    from ablate.evidence.seal import ABOUT
    from ablate.progress import track
    from ablate.record.files import check_links, writing

    target = arguments.to
    if (target / ABOUT).exists():
        raise UserError(f"to={target}: this folder already has evidence; choose another folder")
    folders = [Path(piece).expanduser() for piece in arguments.piece]
    for folder in folders:
        check_links(folder, folder)
    pieces = [Piece.read(folder) for folder in track(folders, "reading parts", len(folders))]
    evidence, log = join(pieces)
    check_links(target, target)
    with writing(target):
        evidence.save(target)
        log.save(target)
    print(f"{target}: {len(evidence.runs)} runs, {evidence.seed_count}")
    if evidence.is_part:
        print(
            "To run the missing runs, repeat the command of the study with part=true "
            f"without_runs={target}"
        )
    else:
        judged, waiting = split_claims(evidence.runs, evidence.study)
        if waiting:
            total = len(judged) + len(waiting)
            print(f"{len(waiting)} of {total} claims lack the runs of an arm, and get no verdict")
        print(f"For its verdict, run: ablate judge {target}")
        if len({run["seed"] for run in evidence.runs}) < evidence.study["seeds"]:
            print(
                f"This verdict is an interim analysis. Only {target} records it. To add runs, join "
                f"{target} with the new parts. Do not join the parts again that it contains"
            )
