"""Measure the time of arms by short runs, if no earlier run was timed."""

import subprocess
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

from ablate.errors import UserError
from ablate.plan.plan import Arm
from ablate.plan.registry import SAMPLES
from ablate.sweep.tuning import UNTESTED

UPDATES = 30
EVERY = 5  # steps between two lines of metrics, from which the time is measured
SHORT = (
    *(f"budget.steps={UPDATES}", "budget.short=null"),
    *(f"budget.validate_every={UPDATES}", "budget.warmup=1"),
    *(f"trainer.log_every_n_steps={EVERY}", "logger=none", "study=null", "fresh=true"),
)


def time_arms(arms: Iterable[Arm], at_once: int) -> None:
    """Measure the time of steps, a validation and a test by a short run of each variant.

    Arms that differ only in their budget are one variant, which is run once. A probe (a run that
    measures a model without training) runs completely. `at_once` of these runs execute at the same
    time, as in the sweep, because cores share memory and caches.

    Raises:
        UserError: a short run failed.
    """
    variants = {arm.kin.variant: arm for arm in arms}.values()
    with ThreadPoolExecutor(at_once) as pool:
        try:
            for _ in pool.map(_time, variants):
                pass
        except UserError:
            pool.shutdown(cancel_futures=True)
            raise


def _time(arm: Arm) -> None:
    print(f"timing {arm.cell.label}", flush=True)
    config = arm.cell.config
    place = f"paths.results={config.paths.results}/{SAMPLES}/{arm.kin.variant}"
    # a screening run is tested here too, because its variant is timed only once
    words = [*(word for word in arm.cell.argv if word != UNTESTED), *SHORT, place]
    done = subprocess.run(
        [sys.executable, "-m", "ablate", *words],
        capture_output=True,
        encoding="utf-8",
        errors="backslashreplace",
        check=False,
    )
    if done.returncode:
        last_line = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:]
        raise UserError(f"the short run of {arm.cell.label} failed: {' '.join(last_line)}")
