"""Warn before a sweep starts about claims that, judging by earlier runs, it cannot decide."""

import sys
from pathlib import Path

from omegaconf import DictConfig

from ablate.plan.plan import doubts, of_cells
from ablate.plan.registry import rows
from ablate.plan.wording import WARNING
from ablate.sweep.launch import Planned


def say_doubts(config: DictConfig, planned: Planned) -> None:
    """Print each claim that can have only one outcome, judging by earlier runs, to stderr.

    Each claim is printed with the reason: both arms are at an end of the metric's scale, an arm has
    never learned, or the margin is larger than the distance of the baseline from the end of the
    scale. The sweep runs anyway.
    """
    if planned.study is None:
        return
    plan = of_cells(config, planned)
    if lines := doubts(plan, rows(Path(config.paths.results), plan.tuned)):
        print("\n  ".join([f"{config.name}: {WARNING}", *lines]), file=sys.stderr, flush=True)
