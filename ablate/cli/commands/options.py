"""List the options of every config group, with a line about each option.

With the name of a group, only the options of that group are listed. An option of a catalogue, or of
a folder of your own, is listed with its folder.

example:
  ablate options model/position
  ablate options experiment
  ablate options --config-dir FOLDER
"""

import argparse
import json
from collections.abc import Iterable
from itertools import groupby
from typing import TYPE_CHECKING

from ablate.cli.parser import PATH, TEXT, Parser, unknown
from ablate.config.location import SEARCHED, config_folders
from ablate.errors import UserError

if TYPE_CHECKING:
    from ablate.config.labels import Option

HEAD = """\
# Every option of every group

Made by `ablate options to=docs/reference/options.md` from the docstrings and the config tree.
Choose one with `group=option`, as in `python -m ablate model/position=learned`; `ablate --cfg job`
shows its keys.
"""
EXPERIMENT = "experiment"  # a group whose options are listed only alone


def add_arguments(parser: Parser) -> None:
    """Declare the config group, and the output file."""
    parser.takes_overrides = True  # for hydra.searchpath
    parser.add_option("config-dir", "a folder with configs of your own", TEXT, "-cd")
    parser.add_argument(
        "group", metavar="GROUP", nargs="?", help="such as model/position; default: all"
    )
    parser.add_argument("--json", action="store_true", help="print a list of options")
    parser.add_key("to", "file for the list as Markdown", PATH)


def run(arguments: argparse.Namespace) -> None:
    """Print the list of options, or write it to a file.

    Raises:
        UserError: there is no such group or folder.
    """
    from ablate.config.labels import options
    from ablate.record.files import write_text

    folders = config_folders(arguments.config_dir, arguments.overrides)
    groups = [word for word in arguments.overrides if not word.lstrip("+").startswith(SEARCHED)]
    wanted = [group.strip("/") for group in (arguments.group, *groups) if group]
    listed = options(folders, experiments=EXPERIMENT in wanted)
    for group in wanted:
        listed = _of(group, listed)
    if arguments.to:
        write_text(arguments.to, markdown(listed))
        return
    if arguments.json:
        print(json.dumps([option._asdict() for option in listed], indent=1))
        return
    for group, members in groupby(listed, lambda option: option.group):
        print(f"{group}:")
        for option in members:
            print(f"  {option.name:24} {_described(option)}".rstrip())
    if not wanted:
        print(f"{EXPERIMENT}: `ablate options {EXPERIMENT}` lists all experiments")


def _described(option: "Option") -> str:
    place = f" (in {option.folder})" if option.folder else ""
    return f"{option.summary}{place}"


def _of(group: str, listed: "list[Option]") -> "list[Option]":
    """Return the options of a group.

    Raises:
        UserError: there is no such group.
    """
    names = [*dict.fromkeys([option.group for option in listed] + [EXPERIMENT])]
    if group in names:
        return [option for option in listed if option.group == group]
    raise UserError(unknown("group", group, names))


def markdown(listed: "Iterable[Option]") -> str:
    """Return the options as Markdown tables, one table per config group."""
    parts = [HEAD]
    for group, members in groupby(listed, lambda option: option.group):
        parts.append(f"## {group}\n\n| option | what it is |\n|---|---|")
        parts += [f"| `{o.name}` | {_described(o).replace('|', chr(92) + '|')} |" for o in members]
        parts.append("")
    return "\n".join(parts)
