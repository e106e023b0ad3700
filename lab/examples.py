"""Recompute the worked examples of the documents, and compare the results with the printed numbers.

Every number is recomputed twice: from its operands as printed, and from the first inputs. Without a
folder, only the totals are printed.
"""

import argparse

from ablate.cli.parser import PATH, Parser
from lab.command import main

FIRST = "recomputing the examples"


def add_arguments(parser: Parser) -> None:
    """Declare the folder of the pages."""
    parser.add_key("to", "write the totals and a page for each example there", PATH)


def run(arguments: argparse.Namespace) -> None:
    """Write a page for each example and a page of totals; without a folder, print the totals."""
    from ablate.record.files import write_text
    from experiments.worked_examples.block import names, read
    from experiments.worked_examples.page import index, page
    from experiments.worked_examples.recompute import registered_rule

    rule, examples = registered_rule(), [read(name) for name in names()]
    if not arguments.to:
        print(index(examples, rule))
        return
    write_text(arguments.to / "README.md", index(examples, rule))
    for example in examples:
        write_text(arguments.to / f"{example.name}.md", page(example, rule))


if __name__ == "__main__":
    main("lab.examples")
