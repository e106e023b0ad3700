"""List the options of every config group, with a line about each option.

With the name of a group, only the options of that group are listed. An option of a catalogue, or of
a folder of your own, is listed with its folder.

example:
  ablate options model/position
  ablate options experiment
  ablate options --config-dir FOLDER
"""

import argparse
from itertools import groupby

from ablate.cli.parser import FOLDER, Parser, no_such
from ablate.errors import UserError

EXPERIMENT = "experiment"  # a group whose options are listed only alone


def add_arguments(parser: Parser) -> None:
    """Declare the config group, and a folder of configs."""
    parser.add_option("config-dir", "a folder with configs of your own", FOLDER, "-cd")
    parser.add_argument(
        "group", metavar="GROUP", nargs="?", help="such as model/position; default: all"
    )


def run(arguments: argparse.Namespace) -> None:
    """Print the list of options.

    Raises:
        UserError: there is no such group.
    """
    from ablate.config.labels import options

    wanted = arguments.group.strip("/") if arguments.group else ""
    listed = options(arguments.config_dir, experiments=wanted == EXPERIMENT)
    names = [*dict.fromkeys([option.group for option in listed] + [EXPERIMENT])]
    if wanted and wanted not in names:
        raise UserError(no_such("group", wanted, names))
    shown = [option for option in listed if wanted in ("", option.group)]
    for group, members in groupby(shown, lambda option: option.group):
        print(f"{group}:")
        for option in members:
            place = f" (in {option.folder})" if option.folder else ""
            print(f"  {option.name:24} {option.summary}{place}".rstrip())
    if not wanted:
        print(f"{EXPERIMENT}: `ablate options {EXPERIMENT}` lists all experiments")
