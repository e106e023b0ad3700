"""Callbacks that store weights to test, or the state of a run for a longer run.

With `budget.short`, a run also gives the result of a run of only `budget.short` steps. The shorter
run has its own folder and its own identity (a digest of its config), as if its config had that
number of steps. As long as both runs would have the same weights and optimiser state, the shorter
run saves its state for the longer run. The longer run continues from that state with the results
that it would have had on its own. The learning rates determine how many steps the two runs share:
under an inverse square root or a constant learning rate, all steps of the shorter run; under a
schedule with a stable phase, the steps until the decay; under a cosine, the steps until the end of
the warm-up.
"""

import math
import shutil
from pathlib import Path
from typing import Any, NamedTuple

import pytorch_lightning as pl
import torch
from omegaconf import DictConfig, OmegaConf
from pytorch_lightning.callbacks import Callback
from pytorch_lightning.trainer.states import TrainerFn

from ablate.config.schema import Checkpoint
from ablate.record.files import load_weights, read_tensors, read_weights, write_tensors
from ablate.record.training import Record
from ablate.schedule import Schedule
from ablate.train.job import Job
from ablate.train.module import Training, Weights
from ablate.train.resume import OWN, last_saved, state_path


class WeightKeeper(Callback):
    """A callback that stores the weights which may be tested: the last, the best of validation, or
    an average.

    With `tested: average`, the weights are stored every `every` steps, and the last `average` of
    them are averaged. A run that ends before any weights are stored is tested with its last
    weights.
    """

    def __init__(self, folder: Path, checkpoint: Checkpoint, *, writes: bool) -> None:
        self.folder = folder
        self.checkpoint = checkpoint
        self.best: float | None = None
        self._writes = writes

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, *rest: Any
    ) -> None:
        """Store the weights every `every` steps, and delete the oldest stored weights, if an
        average is to be tested.
        """
        step, every = trainer.global_step, self.checkpoint.every
        if self.checkpoint.tested != "average" or not self._writes or step % every:
            return
        write_tensors(self._recent(step), pl_module.state_dict())
        self._recent(step - every * self.checkpoint.average).unlink(missing_ok=True)

    def on_validation_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Store the weights if they have the lowest validation nll so far, and if the best weights
        are to be tested.

        This callback comes before those of the user, so the model still has the weights that were
        validated, even if a callback such as an average of weights swaps them for a validation.
        """
        if self.checkpoint.tested != "best" or trainer.state.fn != TrainerFn.FITTING:
            return
        assert isinstance(pl_module, Training)  # the module that a run trains
        nll = pl_module.evaluations["validation"].compute()["nll"]
        if self.best is None or nll < self.best:
            self.best = math.inf if math.isnan(nll) else nll
            if self._writes:
                write_tensors(self.folder / "best.pt", pl_module.state_dict())

    def state_dict(self) -> dict[str, float | None]:
        """Return the lowest validation nll so far, which a resumed run needs to recognise its best
        weights.
        """
        return {"best": self.best}

    def load_state_dict(self, state_dict: dict[str, float | None]) -> None:
        """Restore the lowest validation nll so far from a checkpoint, so that a resumed run still
        recognises its best weights.
        """
        self.best = state_dict["best"]

    def load_tested(self, module: pl.LightningModule, steps: int) -> bool:
        """Load the weights to test into a module that has trained for `steps` steps.

        Returns:
            Whether weights were loaded; otherwise the module keeps its last weights.
        """
        if self.checkpoint.tested == "best" and self.best is not None:
            load_weights(module, self.folder / "best.pt")
            return True
        if self.checkpoint.tested == "average" and (paths := self._recents(steps)):
            module.load_state_dict(average([read_weights(path) for path in paths]))
            return True
        return False

    def _recents(self, steps: int) -> list[Path]:
        every = self.checkpoint.every
        kept = range(every, steps + 1, every)
        return [self._recent(step) for step in kept[-self.checkpoint.average :]]

    def _recent(self, step: int) -> Path:
        return self.folder / f"recent-{step}.pt"


def average(weights: list[Weights]) -> Weights:
    """Return the mean of every floating-point tensor, computed in float64.

    Other tensors are taken from the last of the given weights.
    """
    mean = dict(weights[-1])
    for name, value in mean.items():
        if value.is_floating_point():
            stacked = torch.stack([w[name] for w in weights]).double()
            mean[name] = stacked.mean(0).to(value.dtype)
    return mean


class Longer(NamedTuple):
    """The job and the record (the folder) of a run that continues from the state of a shorter
    run.
    """

    job: Job
    record: Record


def shared_steps(longer: Job, shorter: Job) -> int:
    """Return the largest number of steps after which a longer and a shorter run have equal states.

    The number is 0 if their configs differ in more than the number of steps.
    """
    if _beside_the_length(longer.config) != _beside_the_length(shorter.config):
        return 0
    return _steps_in_common(longer.schedule, shorter.schedule, shorter.config.budget.steps)


def _beside_the_length(config: DictConfig) -> Any:
    tree: Any = OmegaConf.to_container(config, resolve=True)
    tree["budget"] |= {"steps": None, "short": None}
    tree["trainer"] |= {"max_steps": None}
    return tree | {"schedule": None}


def _steps_in_common(first_schedule: Schedule, second_schedule: Schedule, steps: int) -> int:
    """Return the largest number of steps, at most `steps`, after which two runs with these
    schedules have equal states.

    A saved state also contains the learning rate of the next step, so that rate must be equal too.
    """
    apart = (step for step in range(1, steps + 2) if first_schedule(step) != second_schedule(step))
    return max(0, next(apart, steps + 2) - 2)


class HandOver(pl.callbacks.Checkpoint):
    """A callback that copies the state of a run to a longer run, after each validation at a step
    that the two runs share.

    (Lightning calls a `Checkpoint` after other callbacks, and several of them in their order. So
    `StateKeeper` has saved the state before this callback is called.)
    """

    def __init__(self, job: Job, record: Record, longer: Longer) -> None:
        self.record, self.longer = record, longer.record
        alone = longer.job.config.fresh or self.longer.result()
        saved = None if alone else last_saved(self.longer)
        shared = 0 if alone else shared_steps(longer.job, job)
        self.steps = range(saved["step"] + 1 if saved else 1, shared + 1)

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Copy the saved state of this run to the longer run, if both runs share this step.

        Nothing is copied if the longer run is already beyond this step, or if no state was saved at
        this step because gradients were pending.
        """
        step, record, longer = trainer.global_step, self.record, self.longer
        if trainer.state.fn != TrainerFn.FITTING or not record.writes or step not in self.steps:
            return
        state, _ = read_tensors(state_path(record))
        if state[OWN]["step"] == step:
            longer.clear(keep=("tests",))
            without_state = shutil.ignore_patterns(state_path(record).name)
            shutil.copytree(record.checkpoints, longer.checkpoints, ignore=without_state)
            state[OWN]["identity"] = longer.identity
            write_tensors(state_path(longer), state)
