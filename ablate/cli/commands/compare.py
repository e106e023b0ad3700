"""Compare arms of runs that were trained elsewhere: a verdict from a table.

SOURCE is a CSV, TSV, JSONL or Parquet file; a folder of TensorBoard, Lightning or offline W&B runs;
or wandb://ENTITY/PROJECT. docs/referee.md begins with runs of your own.

example:
  ablate compare runs.csv --arm variant --metric val_loss --better lower \\
    --treatment swiglu --baseline relu --margin 0.005
"""

import argparse

from ablate.cli.parser import PATH, Parser

FIRST = "reading the runs"

OPTIONS = {
    "arm": "column that says which arm a run belongs to; several with commas between",
    "metric": "column with the result of a run",
    "better": "lower or higher",
    "treatment": "the arm that the claim is about; without it every arm but the baseline",
    "baseline": "the arm that it is compared with, or a number to be reached",
    "target": "a number to be reached, in place of a baseline",
    "margin": "smallest difference that matters, in units of the metric",
    "kind": "superiority (default), equivalence, non_inferiority, exact, stability or trend",
    "tolerance": "of kind exact: the largest difference that counts as none (default: 0)",
    "pair": "column that pairs runs of different arms, such as the seed",
    "group": "column of datasets: a verdict for each, and over all",
    "run": "column that identifies a run, where a run has many rows",
    "step": "column of the step of a row",
    "take": "the row of a run that counts: last (default) or best",
    "by": "column by which the best row is chosen",
    "reach": "compare the steps until the metric reaches this value",
    "over": "numeric column of a trend",
    "scale": "of a trend: linear (default), log or log_log",
    "started": "column with the time at which a run was started",
    "floor": "metric of a model that has learned nothing: such runs, and runs on a plateau, failed",
    "missing": "runs without a value: rate (default), leave_out, refuse, or a number for them",
    "sd": "stated standard deviation of runs of an arm; needs --sd-source",
    "sd-source": "where the stated standard deviation comes from",
    "noise-from": "arms whose noise is borrowed for arms of 1 to 4 runs, with commas between",
    "test": "corrected: t is corrected for skewness (default of pairs); textbook (else)",
    "alpha": "chance of a false verdict that is allowed (default: 0.05)",
}
NOISE = {"sd": "sd", "sd_source": "source", "noise_from": "arms"}


def add_arguments(parser: Parser) -> None:
    """Declare the source, the question, and where the report goes."""
    parser.add_argument("source", metavar="SOURCE", help="where the runs are")
    for name, about in OPTIONS.items():
        parser.add_argument(f"--{name}", help=about, metavar=name.split("-")[-1].upper())
    parser.add_argument("--json", action="store_true", help="print everything as JSON")
    parser.add_key("where.", "only rows with this value in column KEY", default={})
    parser.add_key("to", "write verdict.json, the report and the figure there", PATH)


def run(arguments: argparse.Namespace) -> None:
    """Print the verdict, and write its files where to= says.

    Raises:
        UserError: the source cannot be read, or nothing could answer the question.
    """
    from ablate.referee.compare import compare
    from ablate.referee.output import show

    show(compare(arguments.source, **asked(arguments)), arguments.to, as_json=arguments.json)


def asked(arguments: argparse.Namespace) -> dict[str, object]:
    """Return the question of the command line as `ablate.compare` takes it."""
    given = {name.replace("-", "_"): getattr(arguments, name.replace("-", "_")) for name in OPTIONS}
    values: dict[str, object] = {key: value for key, value in given.items() if value is not None}
    noise = {NOISE[key]: values.pop(key) for key in NOISE if key in values}
    for key in ("arm", "noise"):
        place = noise if key == "noise" else values
        name = "arms" if key == "noise" else key
        if name in place:
            place[name] = str(place[name]).split(",")
    if noise:
        values["noise"] = noise
    if arguments.where:
        values["where"] = arguments.where
    return values
