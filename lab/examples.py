"""Recompute the worked examples of the documents: printed, from printed operands, from the inputs.

Without a folder the totals alone are printed.
"""

import argparse

from ablate.cli.parser import PATH, Parser
from lab.command import main

FIRST = "recomputing the examples"


def add_arguments(parser: Parser) -> None:
    """Declare where the pages may go."""
    parser.add_key("to", "write the totals and a page for each example there", PATH)


def run(arguments: argparse.Namespace) -> None:
    """Print the totals, or write all pages.

    Raises:
        UserError: a page cannot be written.
    """
    from ablate.claims.example.block import names, read
    from ablate.claims.example.page import index, page
    from ablate.claims.example.recompute import registered_rule
    from ablate.record.files import write_text

    rule, examples = registered_rule(), [read(name) for name in names()]
    if not arguments.to:
        print(index(examples, rule))
        return
    write_text(arguments.to / "README.md", index(examples, rule))
    for example in examples:
        write_text(arguments.to / f"{example.name}.md", page(example, rule))


if __name__ == "__main__":
    main("lab.examples")
