"""Train two budgets at once: a run with `budget.short` also produces the run of that shorter
length.

The shorter run has its own record and identity, as if the config had that number of steps. As long
as both runs would be in the same state, the shorter run saves its state for the longer run, which
continues from there with the results that it would have had on its own. The learning rates
determine how long the states agree: under an inverse root or a constant rate until the last step of
the shorter run, under a stable phase until the decay, under a cosine until the end of the warm-up.
"""

import shutil
from typing import Any, NamedTuple

import pytorch_lightning as pl
from omegaconf import DictConfig, OmegaConf
from pytorch_lightning.callbacks import Checkpoint
from pytorch_lightning.trainer.states import TrainerFn

from ablate.record.files import read_tensors, write_tensors, writing
from ablate.record.training import Record
from ablate.schedule.base import Schedule
from ablate.train.job import Job
from ablate.train.resume import OWN, last_saved, state_path


class Longer(NamedTuple):
    """The longer run, which continues from a short one."""

    job: Job
    record: Record


def shared_steps(longer: Job, shorter: Job) -> int:
    """Return the number of steps after which both runs are in the same state.

    It is 0 if their configs differ in more than the length.
    """
    if _beside_the_length(longer.config) != _beside_the_length(shorter.config):
        return 0
    return _alike(longer.schedule, shorter.schedule, shorter.config.budget.steps)


def _beside_the_length(config: DictConfig) -> Any:
    tree: Any = OmegaConf.to_container(config, resolve=True)
    tree["budget"] |= {"steps": None, "short": None}
    tree["trainer"] |= {"max_steps": None}
    return tree | {"schedule": None}


def _alike(first_schedule: Schedule, second_schedule: Schedule, steps: int) -> int:
    """Return the number of steps with equal learning rates; a state also holds the next rate."""
    apart = (step for step in range(1, steps + 2) if first_schedule(step) != second_schedule(step))
    return max(0, next(apart, steps + 2) - 2)


class HandOver(Checkpoint):
    """Passes the state of a run to a longer run after each validation that both runs have.

    (Lightning calls a `Checkpoint` after other callbacks, and these in their order: at that time
    `StateKeeper` has saved the state.)
    """

    def __init__(self, job: Job, record: Record, longer: Longer) -> None:
        self.record, self.longer = record, longer.record
        alone = longer.job.config.fresh or self.longer.result()
        saved = None if alone else last_saved(self.longer)
        shared = 0 if alone else shared_steps(longer.job, job)
        self.steps = range(saved.step + 1 if saved else 1, shared + 1)

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Pass on the state, unless the longer run has already progressed beyond it."""
        fits = trainer.state.fn == TrainerFn.FITTING and self.record.writes
        if fits and trainer.global_step in self.steps:
            hand_over(self.record, self.longer, trainer.global_step)


def hand_over(record: Record, longer: Record, step: int) -> None:
    """Copy the state of this run to a longer run, if the state was saved at this step."""
    state, _ = read_tensors(state_path(record))
    if state["global_step"] != step:  # gradients were pending, so no state was saved
        return
    longer.clear(keep=("tests",))
    without_state = shutil.ignore_patterns(state_path(record).name)
    with writing(longer.folder):
        shutil.copytree(record.checkpoints, longer.checkpoints, ignore=without_state)
        shutil.copy(record.metrics, longer.metrics)
    state[OWN]["identity"] = longer.identity
    write_tensors(state_path(longer), state)
