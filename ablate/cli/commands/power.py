"""Compute how many runs a comparison needs, and which effect a number of runs can show.

example:
  ablate power --sd 0.0013 --margin 0.002
  ablate power runs.csv --arm variant --metric val_loss --baseline relu --margin 0.002
"""

import argparse

from ablate.cli.parser import NUMBER, TEXT, Parser, whole
from ablate.errors import UserError

FIRST = "computing"

OPTIONS = {
    "sd": "standard deviation of the runs of an arm; if paired, of the differences",
    "margin": "smallest difference that matters",
    "kind": "superiority (default), equivalence or non_inferiority",
    "design": "unpaired (default), paired or target",
    "test": "corrected: t is corrected for skewness (default of pairs); textbook (else)",
    "alpha": "chance of a false verdict that is allowed (default: 0.05)",
    "runs": "also print the effect that this number of runs of each arm can show",
    "arm": "for a table: column with the arm of a run",
    "metric": "for a table: column with the result of a run",
    "baseline": "for a table: the arm whose noise is used; default: all runs",
    "run": "for a table: column that identifies a run, if a run has many rows",
    "step": "for a table: column with the step of a row; the last row of each run counts",
}
TABLE = ("arm", "metric", "baseline", "run", "step")
KINDS = {**dict.fromkeys(("sd", "margin", "alpha"), NUMBER), "runs": whole(2)}


def add_arguments(parser: Parser) -> None:
    """Declare the standard deviation between runs, or a table of runs from which it is estimated;
    the margin, that is, the smallest difference that matters; and the options of the statistical
    test.
    """
    parser.add_argument("source", metavar="SOURCE", nargs="?", help="table of baseline runs")
    for name, about in OPTIONS.items():
        parser.add_option(name, about, KINDS.get(name, TEXT))


def run(arguments: argparse.Namespace) -> None:
    """Print how many runs are needed, and the effect that a number of runs can detect.

    Raises:
        UserError: the standard deviation is missing, or a value is not allowed.
    """
    from ablate.plan.comparison import Plan, sentences

    if arguments.margin is None:
        raise UserError("--margin is missing: give the smallest difference that matters")
    sd, df, doubts = _noise(arguments)
    words = ("kind", "design", "test", "alpha")
    named = {key: getattr(arguments, key) for key in words if getattr(arguments, key) is not None}
    plan = Plan(sd=sd, df=df, margin=arguments.margin, **named)
    for sentence in (*sentences(plan, arguments.runs), *doubts):
        print(sentence)


def _noise(arguments: argparse.Namespace) -> tuple[float, float, list[str]]:
    """Return the standard deviation between runs, its degrees of freedom (infinity if the standard
    deviation was given with --sd), and reasons to doubt them.
    """
    if (arguments.sd is None) == (arguments.source is None):
        raise UserError("give either --sd or a table of baseline runs")
    table = {key: getattr(arguments, key) for key in TABLE}
    if arguments.sd is not None:
        if given := [key for key, value in table.items() if value]:
            raise UserError(f"--{given[0]} needs a table of baseline runs instead of --sd")
        return arguments.sd, float("inf"), []
    from ablate.plan.comparison import spread

    return spread(arguments.source, **{key: value or "" for key, value in table.items()})
