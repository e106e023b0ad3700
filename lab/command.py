"""How `python -m lab.NAME` runs a module that declares `add_arguments` and `run`."""

import sys

from ablate.cli.main import exit_statuses, run_command


def main(module: str) -> None:
    """Run a command of the laboratory with the arguments of this process."""
    prog = f"python -m {module}"
    with exit_statuses(prog):
        run_command(prog, module, sys.argv[1:])
