"""Check machine, libraries, devices, cache, results and W&B for problems.

Nothing is changed. A line that begins with ! reports a problem, and the next line says what to do;
the exit status is then 1.

example:
  ablate doctor
  ablate doctor results=/data/results --json
"""

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from ablate.cli.parser import PATH, Parser

if TYPE_CHECKING:
    from ablate.doctor.installation import Diagnosis


def add_arguments(parser: Parser) -> None:
    """Declare the folders to check, and the output format."""
    parser.add_key("results", "folder of the results", PATH, Path("results"))
    parser.add_key("cache", "folder of the token caches", PATH, Path("cache"))
    parser.add_argument("--json", action="store_true", help="print a list with an object per line")


def run(arguments: argparse.Namespace) -> None:
    """Print the result of each check as soon as the check has ended.

    Raises:
        SystemExit: there is a problem; the status is 1.
    """
    made = []
    for diagnosis in _diagnoses(arguments.results, arguments.cache):
        made.append(diagnosis)
        if not arguments.json:
            print(*diagnosis.lines(), sep="\n", flush=True)
    problems = [diagnosis.check for diagnosis in made if diagnosis.problem]
    if arguments.json:
        print(json.dumps([vars(diagnosis) for diagnosis in made], indent=1))
    elif problems:
        noun = "problem" if len(problems) == 1 else "problems"
        print(f"{len(problems)} {noun}: {', '.join(problems)}")
    else:
        print(f"No problems in {len(made)} checks.")
    if problems:
        sys.stdout.flush()
        sys.exit(1)


def _diagnoses(results: Path, cache: Path) -> "Iterator[Diagnosis]":
    """Yield the result of each check; checks that import torch or W&B, which takes seconds, come
    last.
    """
    from ablate.doctor import installation

    yield installation.look_at_program()
    yield installation.look_at_machine()
    yield installation.look_at_packages()
    yield installation.look_at_extras()
    from ablate.doctor import runtime

    yield runtime.look_at_torch()
    yield runtime.look_at_devices()
    yield runtime.look_at_cache(cache)
    yield runtime.look_at_results(results)
    yield runtime.look_at_wandb(results)
