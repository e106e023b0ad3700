"""Say what a sweep will cost and what it can show; start nothing.

The same overrides as for the sweep itself, for instance
  ablate plan +experiment=preln_vs_postln minutes=30
compose and check all of its cells. Time and noise are those of earlier runs in paths.results on a
machine like this one; results/registry.json, made anew by every plan, has them for every regime.
"""

import argparse
import sys

from ablate.cli.parser import Kind, Parser, whole
from ablate.errors import UserError

FIRST = "composing and checking the cells"


def _said(text: str) -> bool:
    if text not in ("true", "false"):
        raise ValueError
    return text == "true"


def add_arguments(parser: Parser) -> None:
    """Declare the time that there is; everything else is an override."""
    parser.take_overrides()
    parser.add_key("minutes", "solve for the seeds that end within so much wall time", whole(1))
    truth = Kind("BOOL", "true or false", _said)
    parser.add_key("sample", "time a few updates of each arm of which no run was timed", truth)


def run(arguments: argparse.Namespace) -> None:
    """Print the plan.

    Raises:
        UserError: something in the sweep cannot work.
    """
    from pathlib import Path

    from ablate.cli.folders import config_folders
    from ablate.cli.train import explained, train
    from ablate.config.hydras import expand_home
    from ablate.config.smoke import with_own_seeds
    from ablate.sweep.composed import composed

    own = arguments.config_dir
    if own and not Path(own).is_dir():
        raise UserError(f"--config-dir={own}: there is no such folder")
    if arguments.cfg or arguments.info:  # they show the config, and start nothing either
        sys.argv[1:] = [w for w in sys.argv[2:] if not w.startswith(("minutes=", "sample="))]
        train()
        return
    words = with_own_seeds(expand_home(arguments.overrides))
    place = (arguments.config_path, arguments.config_name, own)
    with explained(words, config_folders(own, words)), composed(words, *place) as sweep:
        from ablate.plan.plan import claims, make, priced  # torch, which errors need not wait for

        plan = make(sweep)
    from ablate.plan.noise import regimes
    from ablate.plan.registry import rows
    from ablate.plan.sample import time_arms
    from ablate.plan.wording import solved, told
    from ablate.record.files import write_json
    from ablate.sweep.launch import n_jobs

    results = Path(plan.config.paths.results)
    known = rows(results, plan.tuned)
    plan = priced(plan, known)
    untimed = [*plan.unknown, *plan.guessed]
    if arguments.sample and untimed:
        time_arms(untimed, n_jobs(plan.config))
        known = rows(results, plan.tuned)
        plan = priced(plan, known)
    write_json(results / "registry.json", regimes(known))
    print(told(plan, claims(plan, known)))
    if arguments.minutes and plan.seconds is not None:
        fitting = plan.with_seeds(plan.within(arguments.minutes))
        print(solved(fitting, arguments.minutes, claims(fitting, known)))
