"""Measure the time of arms by short runs, if no earlier sweep has timed them."""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from omegaconf import DictConfig

from ablate.errors import UserError
from ablate.plan.plan import Arm, Plan
from ablate.record.sealed import RESULT, read_sealed
from ablate.sweep.cell import Cell
from ablate.sweep.tuning import UNTESTED
from ablate.train.job import Job
from ablate.train.weights import shared_steps

STEPS = 30
EVERY = 5  # steps between two lines of metrics, from which the time of a step is measured
SHORT = (
    *(f"budget.steps={STEPS}", "budget.short=null"),
    *(f"budget.validate_every={STEPS}", "budget.warmup=1"),
    *(f"trainer.log_every_n_steps={EVERY}", "logger=none", "study=null", "fresh=true"),
)


@dataclass(frozen=True)
class Sample:
    """The seconds that a short run took: for a step, a validation, a test, and everything else."""

    step: float
    validation: float
    test: float
    rest: float

    def seconds(self, config: DictConfig, job: Job | None) -> float:
        """Return the seconds of a run.

        Args:
            config: the config of the run.
            job: its job, if the checks of the sweep have resolved it. A run with two budgets has
                further steps that only the short budget takes.
        """
        if config.probe is not None:
            return self.rest
        steps, tests = config.budget.steps, int(bool(config.test_splits))
        validations = -(-steps // config.budget.validate_every)
        if job is not None and job.short is not None:
            steps += job.short.config.budget.steps - shared_steps(job, job.short)
            tests *= 2
        return self.rest + steps * self.step + validations * self.validation + tests * self.test


def sampled(plan: Plan) -> Plan:
    """Return the plan with the time of each arm that was not timed, from a short run of it.

    As many short runs execute at the same time as in the sweep, because cores share memory and
    caches.

    Raises:
        UserError: a short run failed.
    """
    # an arm of the comparison replaces its tuning runs, which are not tested
    firsts = {str(arm.levels): arm.cells[0] for arm in plan.untimed}
    with ThreadPoolExecutor(plan.at_once) as pool:
        try:
            samples = dict(zip(firsts, pool.map(_time, firsts.values()), strict=True))
        except UserError:
            pool.shutdown(cancel_futures=True)
            raise

    def timed(arm: Arm) -> Arm:
        sample, cell = samples.get(str(arm.levels)), arm.cells[0]
        if arm.seconds is not None or sample is None:
            return arm
        return replace(
            arm,
            seconds=sample.seconds(cell.bare_config(), plan.sweep.checked.jobs.get(cell.number)),
        )

    tuning, arms = ([*map(timed, stage)] for stage in plan.stages)
    return replace(plan, stages=(tuning, arms))


def _time(cell: Cell) -> Sample:
    print(f"timing {cell.label}", flush=True)
    with TemporaryDirectory() as results:
        # a tuning run is tested here too, because its arm is timed only once
        words = [word for word in cell.argv if word != UNTESTED]
        words.append(f"budget.test_sentences={cell.arm.budget.test_sentences}")
        done = subprocess.run(
            [sys.executable, "-m", "ablate", *words, *SHORT, f"paths.results={results}"],
            capture_output=True,
            encoding="utf-8",
            errors="backslashreplace",
            check=False,
        )
        if done.returncode:
            last_line = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:]
            raise UserError(f"the short run of {cell.label} failed: {' '.join(last_line)}")
        (folder,) = Path(results).glob("runs/*/")
        return _read(folder)


def _read(folder: Path) -> Sample:
    """Return the times in the record of a short run.

    The first steps are left out of the time of a step, because they also allocate and compile.
    """
    wall = read_sealed(folder / RESULT)["wall_seconds"]
    test = sum(read_sealed(path)["wall_seconds"] for path in folder.glob(f"tests/*/{RESULT}"))
    path = folder / "metrics.jsonl"
    lines = [json.loads(line) for line in path.read_bytes().splitlines()] if path.exists() else []
    training = [line for line in lines if "val/nll" not in line]
    if len(training) < 2:  # a probe
        return Sample(0.0, 0.0, 0.0, wall + test)
    first, last = training[0], training[-1]
    step = (last["time"] - first["time"]) / (last["step"] - first["step"])
    validation = lines[-1]["time"] - last["time"]
    return Sample(step, validation, test, max(0.0, wall - STEPS * step - validation))
