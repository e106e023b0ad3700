"""Estimate how long a sweep takes and which effects it can detect. Nothing is trained.

The command takes the overrides of the sweep, composes the configs of all its runs and checks them.
Times and run-to-run variation come from earlier runs in paths.results on a similar machine.

example:
  ablate plan +experiment=preln_vs_postln minutes=30
"""

import argparse
import json
import sys
from contextlib import redirect_stdout
from typing import TYPE_CHECKING

from ablate.cli.parser import Parser, one_of, whole

if TYPE_CHECKING:
    from ablate.plan.plan import Plan
    from ablate.plan.power import Sensitivity

FIRST = "composing and checking the runs"


def add_arguments(parser: Parser) -> None:
    """Declare the available time; all other arguments are overrides of the config."""
    parser.takes_overrides = parser.takes_flags = True
    parser.add_key(
        "minutes", "also plan the seeds that fit into so many minutes of wall time", whole(1)
    )
    parser.add_argument("--json", action="store_true", help="print the plan as JSON")
    about = "time a few steps of each arm without a timed run"
    parser.add_key("sample", about, one_of("true", "false"))


def run(arguments: argparse.Namespace) -> None:
    """Print the estimated time of the sweep, and the effects that it can detect.

    Raises:
        UserError: a run of the sweep has a config that cannot work.
    """
    from ablate.config.hydras import read_words  # imports Hydra

    given = read_words(arguments.overrides)
    if given.cfg or given.info or given.hydra_help:  # these flags start nothing
        from ablate.cli.train import train

        sys.argv[1:] = given.words
        train()
        return
    with redirect_stdout(sys.stderr if arguments.json else sys.stdout):
        plans = _plans(given, arguments)
    from ablate.plan.wording import as_data, format_plan, solved

    if arguments.json:
        print(json.dumps({name: as_data(*made) for name, made in plans.items()}, indent=1))
        return
    print(format_plan(*plans["plan"]))
    if "fitting" in plans:
        plan, claims = plans["fitting"]
        print(solved(plan, arguments.minutes, claims))


def _plans(
    given: argparse.Namespace, arguments: argparse.Namespace
) -> "dict[str, tuple[Plan, list[Sensitivity]]]":
    """Return the plan of the sweep and, with minutes=, a plan that fits into this time.

    Each plan comes with the effect sizes that its claims can detect.

    Args:
        given: the overrides and the flags of Hydra.
        arguments: the command's arguments.
    """
    from pathlib import Path

    from ablate.cli.folders import config_folders
    from ablate.cli.train import explained
    from ablate.sweep.begin import composed

    words = given.overrides
    place = (given.config_dir, given.config_path, given.config_name)
    folders = config_folders(given.config_dir, words)
    with explained(words, folders), composed(words, *place) as sweep:
        from ablate.plan.plan import claims, of_cells, priced  # torch; errors need not wait for it
        from ablate.sweep.runs import plan_runs

        plan = of_cells(plan_runs(*sweep))
    from ablate.plan.registry import rows
    from ablate.plan.sample import time_arms
    from ablate.sweep.launch import n_jobs

    results = Path(plan.config.paths.results)
    earlier_runs = rows(results, plan.tuned)
    plan = priced(plan, earlier_runs)
    untimed = [*plan.unknown, *plan.guessed]
    if arguments.sample == "true" and untimed:
        time_arms(untimed, n_jobs(plan.config))
        earlier_runs = rows(results, plan.tuned)
        plan = priced(plan, earlier_runs)
    plans = {"plan": (plan, claims(plan, earlier_runs))}
    if arguments.minutes and plan.seconds is not None:
        fitting = plan.with_seeds(plan.within(arguments.minutes))
        plans["fitting"] = (fitting, claims(fitting, earlier_runs))
    return plans
