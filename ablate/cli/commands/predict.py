"""Write the study that tests whether the gains of a study of combinations add up.

FOLDER has the runs of a study (docs/howto/combinations.md). The command writes an
experiment file with up to seven arms and their predicted gains. Running it decides whether the best
recipe gains what the sum of its changes predicts.

example:
  ablate predict results/sweeps/my_combinations/TIME to=conf/experiment/my_prediction.yaml
"""

import argparse
import shlex
from pathlib import Path

from ablate.cli.parser import PATH, Parser
from ablate.errors import UserError

FIRST = "reading the evidence"


def add_arguments(parser: Parser) -> None:
    """Declare the folder with the runs, and the file to write."""
    about = "folder of a study of combinations, or experiments/NAME"
    parser.add_argument("folder", metavar="FOLDER", help=about)
    about = "experiment file to write, as CONFIG_DIR/experiment/NAME.yaml"
    parser.add_key("to", about, PATH, required=True)


def run(arguments: argparse.Namespace) -> None:
    """Write the experiment file, and print the predicted gains and the command of the study.

    Raises:
        UserError: the folder has no study of combinations, or the file exists.
    """
    from ablate.config.labels import arm_label
    from ablate.metric import metric_of
    from ablate.plan.prediction import prediction, seeds_of, study_file
    from ablate.record.files import write_text
    from ablate.record.results import makes_arms
    from ablate.report.write import expected_gains
    from ablate.sweep.load import from_folder
    from ablate.verdict.sides import words_of

    folder, target = Path(arguments.folder).expanduser(), arguments.to
    if target.parent.name != "experiment" or target.suffix != ".yaml" or target.exists():
        raise UserError(f"to={target}: give a new file, as in conf/experiment/my_prediction.yaml")
    evidence = from_folder(folder)
    design, result = prediction(evidence)
    write_text(target, study_file(evidence, design, result))
    metric, first = metric_of(result["metric"]), arm_label(result["best"]["first"])
    print(f"Predicted sum of effects over {first} in {metric.axis}, with the 95 % interval:")
    for row in expected_gains(result):
        low, high = map(metric.say, row.interval)
        print(f"  {row.name}: {metric.say(row.effect, sign=True)} ({low} to {high})")
    words = words_of(evidence.registration.get("command", ""))[3:]  # after python -m ablate
    typed = [x for x in words if x[0] != "-" and makes_arms(x.lstrip("+~").partition("=")[0])]
    study = ["--config-dir", str(target.parent.parent), f"+experiment={target.stem}"]
    print(f"{target}: at most seven arms, {seeds_of(result)} fresh seeds. To test the prediction:")
    print(f"  python -m ablate {shlex.join([*study, *typed])} -m")
