"""A short timed run of every arm that no earlier run says anything about."""

import subprocess
import sys
from collections.abc import Iterable

from ablate.errors import UserError
from ablate.plan.plan import Arm
from ablate.plan.registry import SAMPLES

UPDATES = 30
EVERY = 5  # updates between two lines of metrics, from which they are timed
SHORT = (
    *(f"budget.steps={UPDATES}", f"budget.validate_every={UPDATES}", "budget.warmup=1"),
    *(f"trainer.log_every_n_steps={EVERY}", "logger=none", "study=null", "fresh=true"),
)


def time_arms(arms: Iterable[Arm]) -> None:
    """Run a few updates of each variant, a validation and a test; a probe runs as a whole.

    Raises:
        UserError: one of them failed.
    """
    for arm in {arm.kin.variant: arm for arm in arms}.values():
        print(f"timing {arm.cell.label}", flush=True)
        config = arm.cell.config
        place = f"paths.results={config.paths.results}/{SAMPLES}/{arm.kin.variant}"
        words = [*arm.cell.argv, *SHORT, place]
        done = subprocess.run(
            [sys.executable, "-m", "ablate", *words], capture_output=True, text=True, check=False
        )
        if done.returncode:
            said = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:]
            raise UserError(f"the short run of {arm.cell.label} failed: {' '.join(said)}")
