"""Write the web pages: `python -m experiments.site FOLDER`, or `make site`."""

from argparse import ArgumentParser
from pathlib import Path

from ablate.cli.parser import exit_statuses
from ablate.config import catalogue_root
from ablate.ledger.text import read_entries
from experiments.site.model import gather
from experiments.site.write import write


def main() -> None:
    """Read the committed verdicts, write the pages into the folder of the command line, and print
    the path of the first page.
    """
    parser = ArgumentParser("python -m experiments.site", description=__doc__)
    parser.add_argument("folder", type=Path, help="folder for the pages")
    folder = parser.parse_args().folder
    with exit_statuses(parser.prog):
        write(gather(read_entries(catalogue_root())), folder)
        print(f"site: {folder / 'index.html'}")


if __name__ == "__main__":
    main()
