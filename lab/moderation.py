"""Measure the error rates and the power of the interval that borrows from all arms of a study.

Replaces the tables of docs/explanation/moderation.md and draws its figure; takes about ten minutes
of one core.
"""

import argparse
from pathlib import Path

from ablate.cli.parser import PATH, Parser, several, whole
from lab.command import main

FIRST = "drawing studies of one to 38 comparisons"


def add_arguments(parser: Parser) -> None:
    """Declare the numbers of simulated studies, of seeds and of comparisons, and the files."""
    parser.add_key("sweeps", "studies of each cell", whole(1), 10000)
    parser.add_key("seeds", "seeds per arm", several(whole(3)), [3, 5, 10, 20])
    parser.add_key("comparisons", "arms against the baseline", several(whole(1)), [3, 12, 38])
    parser.add_key(
        "to", "the page whose tables are replaced", PATH, Path("docs/explanation/moderation.md")
    )
    parser.add_key("figure", "the figure of power", PATH, Path("docs/images/borrowed_power.svg"))
    parser.add_key("experiments", "committed runs to resample", PATH, Path("experiments"))


def run(arguments: argparse.Namespace) -> None:
    """Simulate, replace the tables, draw the figure and print the tables.

    Raises:
        UserError: the page lacks a section.
    """
    from ablate.record.files import write_text
    from lab.calibration.moderation import committed
    from lab.calibration.moderation_tables import draw_figure, powers, tables
    from lab.calibration.tables import markdown, with_tables

    power = powers(arguments.sweeps, arguments.seeds)
    sections = tables(
        arguments.sweeps,
        arguments.seeds,
        arguments.comparisons,
        power,
        committed(arguments.experiments),
    )
    page = arguments.to.read_text(encoding="utf-8")
    for title, section in sections.items():
        page = with_tables(page, title, section)
    write_text(arguments.to, page)
    draw_figure(power, arguments.figure)
    print("\n\n".join(markdown(table) for section in sections.values() for table in section))


if __name__ == "__main__":
    main("lab.moderation")
