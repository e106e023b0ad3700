"""Register a question before its runs: write a sealed, dated copy of a study file.

A study file states the claims about a table of runs. After registration, verdicts of `ablate judge
TABLE STUDY` state whether the question is older than the runs.

example:
  ablate register study.yaml
"""

import argparse
from pathlib import Path

from ablate.cli.parser import Parser

FIRST = "reading the study"


def add_arguments(parser: Parser) -> None:
    """Declare the path of the study file."""
    parser.add_argument("study", metavar="STUDY", type=Path, help="YAML file with the question")


def run(arguments: argparse.Namespace) -> None:
    """Write a copy of the study file beside it, with the date and a seal (a digest that detects
    later edits).

    Raises:
        UserError: the study is malformed, or was registered before.
    """
    from ablate.referee.registration import register

    path = register(arguments.study)
    print(f"registered: {path}; commit it, so that others can see its date")
