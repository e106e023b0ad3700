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

from ablate.cli.parser import TEXT, Parser, unknown
from ablate.config.location import SEARCHED, config_folders
from ablate.errors import UserError

EXPERIMENT = "experiment"  # a group whose options are listed only alone


def add_arguments(parser: Parser) -> None:
    """Declare the config group, and a folder of configs."""
    parser.takes_overrides = True  # for hydra.searchpath
    parser.add_option("config-dir", "a folder with configs of your own", TEXT, "-cd")
    parser.add_argument(
        "group", metavar="GROUP", nargs="?", help="such as model/position; default: all"
    )


def run(arguments: argparse.Namespace) -> None:
    """Print the list of options.

    Raises:
        UserError: there is no such group or folder.
    """
    from ablate.config.labels import options

    folders = config_folders(arguments.config_dir, arguments.overrides)
    groups = [word for word in arguments.overrides if not word.lstrip("+").startswith(SEARCHED)]
    wanted = [group.strip("/") for group in (arguments.group, *groups) if group]
    listed = options(folders, experiments=EXPERIMENT in wanted)
    names = [*dict.fromkeys([option.group for option in listed] + [EXPERIMENT])]
    if missing := [group for group in wanted if group not in names]:
        raise UserError(unknown("group", missing[0], names))
    shown = [option for option in listed if not wanted or option.group in wanted]
    for group, members in groupby(shown, lambda option: option.group):
        print(f"{group}:")
        for option in members:
            place = f" (in {option.folder})" if option.folder else ""
            print(f"  {option.name:24} {option.summary}{place}".rstrip())
    if not wanted:
        print(f"{EXPERIMENT}: `ablate options {EXPERIMENT}` lists all experiments")
