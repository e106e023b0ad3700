"""Run a command `python -m lab.NAME`, whose module defines `add_arguments` and `run`."""

import sys

from ablate.cli.main import run_command
from ablate.cli.process import exit_statuses


def main(module: str) -> None:
    """Run the command of a module, such as "lab.noise", with the arguments of this process.

    Raises:
        SystemExit: the command has failed; the message is on stderr.
    """
    prog = f"python -m {module}"
    with exit_statuses(prog):
        run_command(prog, module, sys.argv[1:])
