"""The former name of `ablate options`."""

import argparse
import sys

from ablate.cli.commands import options
from ablate.cli.commands.options import add_arguments as add_arguments


def run(arguments: argparse.Namespace) -> None:
    """Say the new name, and list the options.

    Raises:
        UserError: there is no such group.
    """
    print("ablate levels: this command is called `ablate options` now", file=sys.stderr)
    options.run(arguments)
