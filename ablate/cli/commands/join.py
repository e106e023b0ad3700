"""Join the runs of several folders of one question into one folder.

A FOLDER is that of a finished sweep, or of evidence (the results of a sweep without its weights),
such as parts of a study that ran on machines without a shared folder. The folders must have the
same question, setting and code, and no run in common.

example:
  ablate join part_a part_b to=joined
  ablate judge joined
"""

import argparse
from pathlib import Path

from ablate.cli.parser import PATH, Parser
from ablate.errors import UserError

FIRST = "reading the folders"


def add_arguments(parser: Parser) -> None:
    """Declare the command's arguments: the folders to join, and the folder to write."""
    parser.add_argument("folder", metavar="FOLDER", nargs="+", help="folder of a sweep or evidence")
    parser.add_key("to", "folder that the joined evidence is written to", PATH, required=True)


def run(arguments: argparse.Namespace) -> None:
    """Join the runs of all folders, and write them as one folder of evidence.

    Raises:
        UserError: the folders cannot be joined, or the target folder already has evidence.
    """
    from ablate.evidence.checks import ABOUT
    from ablate.evidence.log import join, save
    from ablate.record.files import check_links

    target = arguments.to
    if (target / ABOUT).exists():
        raise UserError(f"to={target}: this folder already has evidence; choose another folder")
    folders = [Path(folder).expanduser() for folder in arguments.folder]
    for folder in (*folders, target):
        check_links(folder, folder)
    evidence, log = join(folders)
    target.mkdir(parents=True, exist_ok=True)
    save(log, target)
    evidence.save(target)
    print(f"{target}: {len(evidence.runs)} runs, {evidence.seed_count}")
