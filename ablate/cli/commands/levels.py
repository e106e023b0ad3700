"""List every config group and level that an override can choose, with a line about each.

With levels of your own: ablate --config-dir FOLDER --help
"""

import argparse
from collections.abc import Iterable
from itertools import groupby
from typing import TYPE_CHECKING

from ablate.cli.parser import PATH, Parser

if TYPE_CHECKING:
    from ablate.config.levels import Level

HEAD = """\
# Every level of every group

Made by `ablate levels to=docs/levels.md` from the docstrings and the config tree. Choose one with
`group=level`, as in `python -m ablate model/position=learned`; `ablate --cfg job` shows its keys.
"""


def add_arguments(parser: Parser) -> None:
    """Declare where the list may go."""
    parser.add_key("to", "write the list as Markdown there", PATH)


def run(arguments: argparse.Namespace) -> None:
    """Print the list, or write it."""
    from ablate.config.levels import levels
    from ablate.record.files import write_text

    found = list(levels())
    if arguments.to:
        write_text(arguments.to, markdown(found))
        return
    for group, members in groupby(found, lambda level: level.group):
        print(f"{group}:")
        for level in members:
            print(f"  {level.name:24} {level.says}".rstrip())
    print(
        "experiment: see conf/experiment and experiments/README.md, as +experiment=preln_vs_postln"
    )


def markdown(found: "Iterable[Level]") -> str:
    """Return the list as tables, one per group."""
    parts = [HEAD]
    for group, members in groupby(found, lambda level: level.group):
        parts.append(f"## {group}\n\n| level | what it is |\n|---|---|")
        parts += [f"| `{one.name}` | {one.says.replace('|', chr(92) + '|')} |" for one in members]
        parts.append("")
    return "\n".join(parts)
