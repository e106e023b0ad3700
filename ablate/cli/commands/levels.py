"""List every config group and level that an override can choose, with a line about each.

With the name of a group its levels alone: ablate levels model/position
With levels of your own: ablate --config-dir FOLDER --help
"""

import argparse
import difflib
from collections.abc import Iterable
from itertools import groupby
from typing import TYPE_CHECKING

from ablate.cli.parser import PATH, Parser
from ablate.errors import UserError

if TYPE_CHECKING:
    from ablate.config.levels import Level

HEAD = """\
# Every level of every group

Made by `ablate levels to=docs/levels.md` from the docstrings and the config tree. Choose one with
`group=level`, as in `python -m ablate model/position=learned`; `ablate --cfg job` shows its keys.
"""
EXPERIMENT = "experiment"  # a group whose levels have a table of their own
EXAMPLE = "+experiment=preln_vs_postln"
NEAR = 3  # names that an error suggests


def add_arguments(parser: Parser) -> None:
    """Declare the group, and where the list may go."""
    parser.add_argument("group", metavar="GROUP", nargs="?", help="as model/position; else all")
    parser.add_key("to", "write the list as Markdown there", PATH)


def run(arguments: argparse.Namespace) -> None:
    """Print the list, or write it.

    Raises:
        UserError: there is no such group.
    """
    from ablate.config.levels import levels
    from ablate.record.files import write_text

    found = list(levels())
    if arguments.group:
        found = _of(arguments.group.strip("/"), found)
    if arguments.to:
        write_text(arguments.to, markdown(found))
        return
    for group, members in groupby(found, lambda level: level.group):
        print(f"{group}:")
        for level in members:
            print(f"  {level.name:24} {level.says}".rstrip())
    if arguments.group in (None, EXPERIMENT):
        print(f"{EXPERIMENT}: see conf/experiment and experiments/README.md, as {EXAMPLE}")


def _of(group: str, found: "list[Level]") -> "list[Level]":
    """The levels of a group; experiments are not among them."""
    names = [*dict.fromkeys(level.group for level in found), EXPERIMENT]
    if group in names:
        return [level for level in found if level.group == group]
    holding = [name for name in names if group in name]
    near = holding or difflib.get_close_matches(group, names, n=NEAR, cutoff=0.5)
    hint = f"did you mean {' or '.join(near[:NEAR])}? " if near else ""
    raise UserError(f"no group is called {group}: {hint}`ablate levels` lists all {len(names)}")


def markdown(found: "Iterable[Level]") -> str:
    """Return the list as tables, one per group."""
    parts = [HEAD]
    for group, members in groupby(found, lambda level: level.group):
        parts.append(f"## {group}\n\n| level | what it is |\n|---|---|")
        parts += [f"| `{one.name}` | {one.says.replace('|', chr(92) + '|')} |" for one in members]
        parts.append("")
    return "\n".join(parts)
