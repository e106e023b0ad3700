"""Estimate how long a sweep takes and which effects it can detect. Nothing is trained.

The command takes the overrides of the sweep, composes the configs of all its runs and checks them.
Times and run-to-run variation come from an earlier sweep of the same name and setting in
paths.results; with sample=true, a few training steps of each arm are timed.

example:
  ablate plan +experiment=preln_vs_postln sample=true
"""

import argparse
import sys
import time

from ablate.cli.parser import NUMBER, Parser, one_of

FIRST = "composing and checking the runs"


def add_arguments(parser: Parser) -> None:
    """Declare whether arms are timed; all other arguments are overrides of the config."""
    parser.takes_overrides = parser.takes_flags = True
    about = "time a few steps of each arm without a timed run"
    parser.add_key("sample", about, one_of("true", "false"))
    parser.add_key("noise", "assumed standard deviation of the runs of an arm or recipe", NUMBER)
    parser.add_key("interaction", "combinations: that of the interaction of two changes", NUMBER)


def run(arguments: argparse.Namespace) -> None:
    """Print the estimated time of the sweep, and the effects that it can detect.

    Raises:
        UserError: a run of the sweep has a config that cannot work.
    """
    begun = time.monotonic()
    from ablate.cli.train import check_shadowed_files, read_words, train  # imports Hydra

    given = read_words(arguments.overrides)
    if given.cfg or given.info or given.hydra_help:  # these flags start nothing
        sys.argv[1:] = given.words
        train()
        return
    from ablate.sweep.runs import compose_sweep

    place = (given.config_dir, given.config_path, given.config_name)
    check_shadowed_files(given.config_dir)
    with compose_sweep(given.overrides, *place) as sweep:
        from ablate.sweep.runs import plan_runs

        planned = plan_runs(*sweep)
        # only now, because a misspelt key need not wait for torch
        from ablate.plan.plan import lines_of, plan_of, time_arms

        plan = plan_of(planned)
    plan.setup_seconds = time.monotonic() - begun
    if arguments.sample == "true":
        time_arms(plan)
    from ablate.plan.power import power_table, sensitivities_of, untuned_rates

    lines = lines_of(plan, arguments.noise or 1.0, arguments.interaction or 0.0)
    if sensitivities := sensitivities_of(plan, arguments.noise or 0.0):
        lines += ["", "Smallest effect by seeds (80 % power), and seeds needed for the margin"]
        lines += [*power_table(sensitivities, plan.seeds), *untuned_rates(plan)]
    print("\n".join(lines))
