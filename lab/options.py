"""Write the reference of all options, from the docstrings and the config tree.

example:
  python -m lab.options to=docs/reference/options.md
"""

import argparse
from itertools import groupby

from ablate.cli.parser import PATH, Parser
from ablate.config.labels import options
from ablate.record.files import write_text, writing
from lab.command import main

FIRST = "reading the options"
HEAD = """\
# Every option of every group

Made by `python -m lab.options to=docs/reference/options.md` from the docstrings and the config
tree. Choose one with `group=option`, as in `python -m ablate model/position=learned`;
`ablate --cfg job` shows its keys.
"""


def add_arguments(parser: Parser) -> None:
    """Declare the file of the page."""
    parser.add_key("to", "write the page there", PATH, required=True)


def run(arguments: argparse.Namespace) -> None:
    """Write the page."""
    with writing(arguments.to):
        write_text(arguments.to, page())
    print(f"page: {arguments.to}")


def page() -> str:
    """Return the page as Markdown, with a table for each config group."""
    parts = [HEAD]
    for group, members in groupby(options(), lambda option: option.group):
        parts.append(f"## {group}\n\n| option | what it is |\n|---|---|")
        for option in members:
            place = f" (in {option.folder})" if option.folder else ""
            described = f"{option.summary}{place}".replace("|", r"\|")
            parts.append(f"| `{option.name}` | {described} |")
        parts.append("")
    return "\n".join(parts)


if __name__ == "__main__":
    main("lab.options")
