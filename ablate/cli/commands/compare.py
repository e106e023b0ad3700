"""Compare arms of runs that were trained elsewhere: a verdict from a table of runs.

SOURCE is a CSV, TSV, JSONL or Parquet file; a folder of TensorBoard or Lightning;
wandb://ENTITY/PROJECT; or the folder of a sweep, which needs no option, or only --metric.
docs/howto/referee.md explains how to compare runs of your own.

example:
  ablate compare runs.csv --arm variant --metric val_loss --better lower \\
    --treatment swiglu --baseline relu --margin 0.005
"""

import argparse
import csv
from pathlib import Path

from ablate.cli.commands import judge
from ablate.cli.parser import PATH, TEXT, Kind, Parser, one_of

FIRST = "reading the runs"

OPTIONS = {
    "arm": "column that names the arm of a run; or several, separated by commas as in CSV",
    "metric": "column with the result of a run",
    "better": "lower or higher",
    "treatment": "the arm that the claim is about; default: every arm except the baseline",
    "baseline": "the arm to compare with",
    "target": "a number to reach, instead of a baseline",
    "margin": "smallest difference that matters, in units of the metric",
    "kind": "superiority (default), equivalence, non_inferiority, exact, stability or trend",
    "tolerance": "for kind exact: the largest difference that counts as equal (default: 0)",
    "design": "combinations: each column of --arm is a factor, whose levels runs take at random",
    "pair": "column that pairs runs of different arms, such as the seed",
    "group": "column of datasets: a verdict for each",
    "run": "column that identifies a run, if a run has many rows",
    "step": "column of the step of a row",
    "take": "the row of a run that counts: last (default) or best",
    "by": "column by which the best row is chosen, in the direction of --better",
    "reach": "compare the steps until the metric reaches this value",
    "over": "numeric column of a trend",
    "scale": "scale of a trend: linear (default), log or log_log",
    "floor": "metric of a model that has learned nothing; runs there or on a plateau failed",
    "missing": "runs without a value: rate (default) or leave_out",
    "test": "corrected: t is corrected for skewness (default of pairs); textbook (else)",
    "alpha": "chance of a false verdict that is allowed (default: 0.05)",
}


def add_arguments(parser: Parser) -> None:
    """Declare the source of the runs, the options that describe the comparison (such as the columns
    of the table, the arms and the margin), and the folder of the report.
    """
    parser.add_argument("source", metavar="SOURCE", help="table or folder of the runs")
    for name, about in OPTIONS.items():
        parser.add_option(name, about, NAMES if name == "arm" else TEXT)
    parser.add_argument("--json", action="store_true", help="print everything as JSON")
    parser.add_key("where.", "only rows with this value in column KEY", default={})
    parser.add_key("to", "folder for verdict.json, the report and the figure", PATH)
    parser.add_key("logger", judge.WANDB, one_of("wandb"))


def run(arguments: argparse.Namespace) -> None:
    """Print the verdict; with to=FOLDER, also write its files into this folder.

    Raises:
        UserError: the source cannot be read, or no statistical rule can answer the question.
    """
    from ablate.evidence.checks import ABOUT
    from ablate.referee.compare import compare, compare_sweep

    if not (Path(arguments.source).expanduser() / ABOUT).is_file():
        judge.show(compare(arguments.source, **asked(arguments)), arguments)
    elif given := asked(arguments):
        from ablate.sweep.load import evidence_to_judge

        judge.show(compare_sweep(evidence_to_judge(arguments.source), given), arguments)
    else:
        judge.run(argparse.Namespace(**vars(arguments), study=None, tables=None))


def _names(text: str) -> list[str]:
    """Split a line of CSV into names; a name that contains a comma needs quotation marks."""
    return next(csv.reader([text], skipinitialspace=True)) or [text]


NAMES = Kind("NAMES", "names separated by commas", _names)


def asked(arguments: argparse.Namespace) -> dict[str, object]:
    """Return the options of the command line as keyword arguments of `ablate.compare`."""
    given = {name: getattr(arguments, name) for name in OPTIONS}
    values: dict[str, object] = {key: value for key, value in given.items() if value is not None}
    if arguments.where:
        values["where"] = arguments.where
    return values
