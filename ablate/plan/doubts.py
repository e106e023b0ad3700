"""Claims that a sweep cannot decide by what earlier runs have shown, said before it starts."""

import sys
from pathlib import Path

from omegaconf import DictConfig

from ablate.plan.plan import doubts, of_cells
from ablate.plan.registry import rows
from ablate.plan.wording import WARNING
from ablate.sweep.launch import Planned


def say_doubts(config: DictConfig, planned: Planned) -> None:
    """Print each claim that can come out in one way only, and why; nothing where there is none.

    Both arms may be at an end of the scale, an arm may never have learned, or the margin may be
    larger than what the baseline has to lose. The sweep runs nevertheless.
    """
    if planned.study is None:
        return
    plan = of_cells(config, planned)
    if lines := doubts(plan, rows(Path(config.paths.results), plan.tuned)):
        print("\n  ".join([f"{config.name}: {WARNING}", *lines]), file=sys.stderr, flush=True)
