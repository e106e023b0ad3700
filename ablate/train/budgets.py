"""Two budgets from one training: a run with `budget.short` begins with the run of that length.

The shorter run is one of its own, with its own record and identity: the one that the same config
with so many steps has. Where both runs are in the same state, it leaves that to the longer one,
which goes on from there to the numbers that it would have had alone. How far that is, the rates
say: under an inverse root or a constant rate to the last step of the shorter run, under a stable
phase to the decay, under a cosine to the end of the warm-up.
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
    """The longer run that goes on from a short one."""

    job: Job
    record: Record


def shared_steps(longer: Job, shorter: Job) -> int:
    """Return the steps after which both runs are in one state; 0 where more than length differs."""
    if _beside_the_length(longer.config) != _beside_the_length(shorter.config):
        return 0
    return _alike(longer.schedule, shorter.schedule, shorter.config.budget.steps)


def _beside_the_length(config: DictConfig) -> Any:
    tree: Any = OmegaConf.to_container(config, resolve=True)
    tree["budget"] |= {"steps": None, "short": None}
    tree["trainer"] |= {"max_steps": None}
    return tree | {"schedule": None}


def _alike(one: Schedule, other: Schedule, steps: int) -> int:
    """Steps after which two runs have had the same rates; their states hold that of the next."""
    apart = (step for step in range(1, steps + 2) if one(step) != other(step))
    return max(0, next(apart, steps + 2) - 2)


class HandOver(Checkpoint):
    """Leaves the state of a run to a longer one, after each validation that both would have.

    (Lightning calls a `Checkpoint` after other callbacks, and these in their order: the state that
    `StateKeeper` has saved is there.)
    """

    def __init__(self, job: Job, record: Record, longer: Longer) -> None:
        self.record, self.longer = record, longer.record
        alone = longer.job.config.fresh or self.longer.result()
        saved = None if alone else last_saved(self.longer)
        shared = 0 if alone else shared_steps(longer.job, job)
        self.steps = range(saved.step + 1 if saved else 1, shared + 1)

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Hand the state over, unless the longer run is ahead of it."""
        fits = trainer.state.fn == TrainerFn.FITTING and self.record.writes
        if fits and trainer.global_step in self.steps:
            hand_over(self.record, self.longer, trainer.global_step)


def hand_over(record: Record, longer: Record, step: int) -> None:
    """Let a longer run go on from the state of this one, if that is of this step."""
    state, _ = read_tensors(state_path(record))
    if state["global_step"] != step:  # gradients were pending, so that none was saved
        return
    longer.clear(keep=("tests",))
    own = shutil.ignore_patterns(state_path(record).name)
    with writing(longer.folder):
        shutil.copytree(record.checkpoints, longer.checkpoints, ignore=own)
        shutil.copy(record.metrics, longer.metrics)
    state[OWN]["identity"] = longer.identity
    write_tensors(state_path(longer), state)
