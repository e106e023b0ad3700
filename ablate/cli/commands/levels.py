"""List every config group and level that an override can choose.

With levels of your own: ablate --config-dir FOLDER --help
"""

import argparse
import sys

from ablate.cli.parser import Parser


def add_arguments(parser: Parser) -> None:
    """It takes none."""


def run(arguments: argparse.Namespace) -> None:
    """Print what Hydra finds on its search path."""
    from ablate.cli.train import train

    sys.argv[1:] = ["--help"]
    train()
