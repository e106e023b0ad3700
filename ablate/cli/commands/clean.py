"""Show the files of results that are no longer needed; delete=true removes them.

Without delete=true nothing is removed. Verdicts, reports, the analysis log and the run folders on
which they are based always stay. docs/howto/clean.md describes each kind of file.

example:
  ablate clean
  ablate clean what=weights delete=true
"""

import argparse
from itertools import groupby
from pathlib import Path

from ablate.cli.parser import FOLDER, PATH, TEXT, Parser, one_of, several
from ablate.errors import UserError

FIRST = "reading the results"
SHOWN = 5  # largest number of paths of a kind if several kinds are shown


def add_arguments(parser: Parser) -> None:
    """Declare the folders to search, the kinds of files, and whether these files are removed."""
    parser.add_key("results", "folder of the results", FOLDER, "results")
    parser.add_key("cache", "folder of the token caches", PATH, "cache")
    kinds = "kinds to show or remove; default: all that are no longer needed"
    parser.add_key("what", kinds, several(TEXT))
    parser.add_key("delete", "remove the files that are shown", one_of("true", "false"), "false")


def run(arguments: argparse.Namespace) -> None:
    """Print the files of results that are no longer needed, with their sizes, and remove them if
    `delete=true` is given.

    The files are grouped by kind, such as weights, with the reason why a kind is not needed.

    Raises:
        UserError: a kind does not exist, a folder has no results, or a path cannot be removed.
    """
    from ablate.sweep.leftovers import KINDS, Folders, find_leftovers, remove

    kinds = arguments.what or [name for name, kind in KINDS.items() if not kind.asked]
    if unknown := [name for name in kinds if name not in KINDS]:
        raise UserError(f"what={unknown[0]}: it must be one or several of {', '.join(KINDS)}")
    folders = Folders(Path(arguments.results), Path(arguments.cache))
    leftovers = find_leftovers(folders, kinds)
    for name, group in groupby(leftovers, lambda leftover: leftover.kind):
        listed = list(group)
        size = sum(leftover.size for leftover in listed)
        print(f"{name}: {len(listed)}, {_megabytes(size)}; {KINDS[name].reason}")
        shown = listed if len(kinds) == 1 else listed[:SHOWN]
        for leftover in shown:
            print(f"  {_megabytes(leftover.size):>10}  {leftover.path}")
        if len(shown) < len(listed):
            print(f"  ... and {len(listed) - len(shown)} more; what={name} names them all")
    total = _megabytes(sum(leftover.size for leftover in leftovers))
    if not leftovers:
        print("There is nothing to remove.")
    elif arguments.delete == "false":
        print(f"{total} in all. Nothing was removed; delete=true removes it.")
    else:
        try:
            busy = [leftover for leftover in leftovers if not remove(leftover, folders.results)]
        except OSError as error:
            raise UserError(f"{error.filename} cannot be removed: {error.strerror}") from None
        for leftover in busy:
            print(f"{leftover.path} was kept: a process is using this run")
        removed = [leftover for leftover in leftovers if leftover not in busy]
        freed = _megabytes(sum(leftover.size for leftover in removed))
        print(f"Removed {len(removed)} of {len(leftovers)}, {freed} in all.")


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.1f} MB"
