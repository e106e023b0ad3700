"""Save the state of a run, so that it can be interrupted and resumed with the same results as a run
without an interruption, and store the weights to test.

A scheduler sends SIGTERM shortly before it takes the machine away. While a run trains, SIGTERM and
Ctrl-C take effect at the end of the batch, after a complete state was saved. At any other time the
signal ends the process at once. The exit status is the status that a shell gives for the signal:
143 or 130.

Lightning saves and restores the model, the optimiser, the schedule, callbacks and its own counters.
This module adds the states of the random generators, the content of metrics.jsonl, and whether
training was about to stop. A state is saved only when no gradient has been accumulated: after a
validation, and before a batch that follows an optimiser step.
"""

import math
import signal
import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn, TypedDict

import pytorch_lightning as pl
import torch
from lightning_fabric.plugins import TorchCheckpointIO
from pytorch_lightning.callbacks import Callback, Checkpoint
from pytorch_lightning.trainer.call import _call_callback_hooks
from pytorch_lightning.trainer.states import TrainerFn

from ablate.record.files import load_weights, read_log, read_tensors, read_weights, write_tensors
from ablate.record.training import Record
from ablate.task import of_all_processes
from ablate.train.module import Training, Weights

SIGNALS = (signal.SIGTERM, signal.SIGINT)


class Interruption:
    """A context manager that handles SIGTERM and Ctrl-C; outside the main thread it does
    nothing.
    """

    def __init__(self) -> None:
        self.received: int | None = None
        self.deferred = False
        self._earlier: dict[int, Any] = {}

    def __enter__(self) -> "Interruption":
        self._earlier = {number: signal.getsignal(number) for number in SIGNALS}
        self.defer(deferred=False)
        return self

    def __exit__(self, *_raised: object) -> None:
        for number, handler in self._earlier.items():
            _handle(number, handler)

    def defer(self, *, deferred: bool) -> None:
        """Choose what a signal does. With `deferred`, the process goes on until `leave` is called.
        Without it, the process ends at once, also if a signal has already arrived.

        Each call installs our signal handlers again, because Lightning may have replaced them. A
        second Ctrl-C always ends the process at once.
        """
        for number in SIGNALS:
            _handle(number, self._arrived)
        self.deferred = deferred
        if self.received is not None and not deferred:
            self.leave()

    def leave(self) -> NoReturn:
        """End the process with the exit status of the signal."""
        print("interrupted; the same command continues this run", file=sys.stderr)
        raise SystemExit(128 + (self.received or signal.SIGTERM))

    def _arrived(self, number: int, frame: FrameType | None) -> None:
        impatient = self.received == signal.SIGINT == number
        self.received = number
        if impatient or not self.deferred:
            self.leave()


def _handle(number: int, handler: Any) -> None:
    if threading.current_thread() is threading.main_thread():
        signal.signal(number, handler)


OWN = "ablate"  # the key of `RunState` in Lightning's checkpoint


class RunState(TypedDict):
    """The values that this package adds to a Lightning checkpoint, so that a run can be resumed."""

    identity: str
    step: int  # number of optimiser steps
    batches: int  # largest number of batches in an epoch
    metrics: str  # content of metrics.jsonl
    wall_seconds: float
    random: list[dict[str, torch.Tensor]]  # states of the random generators, by rank
    should_stop: bool


def last_saved(record: Record) -> RunState | None:
    """Return the values in the saved state of an interrupted run; None if there is no usable state.

    If the file is unusable, the reason is printed and the file is deleted.
    """
    path = state_path(record)
    if not path.exists():
        return None
    problem = "it belongs to another run"
    try:
        state: RunState = read_tensors(path)[0][OWN]
        if state["identity"] == record.identity:
            return state
    except Exception:  # damage can cause any exception
        problem = "it is damaged"
    if record.writes:
        print(f"{path} cannot be used because {problem}: the run starts again", flush=True)
        path.unlink()
    return None


def state_path(record: Record) -> Path:
    """Return the path of the saved state of a run."""
    return record.checkpoints / "last.ckpt"


class StateKeeper(Checkpoint):
    """A callback that saves and restores the state of a run, and delays an interruption until a
    state is saved.

    A state is saved after every validation, after every `checkpoint.save_every` steps if that is
    set, and before an interrupted run ends. (Lightning calls a `Checkpoint` after other callbacks.)
    """

    def __init__(self, record: Record, interruption: Interruption) -> None:
        self.record = record
        self.every: int | None = record.config.checkpoint.save_every
        self.interruption = interruption
        self._began = False
        self._saved_step = 0
        self._batches: int | None = None  # largest number of batches in an epoch
        self._random: list[dict[str, torch.Tensor]] | None = None  # random state of every rank

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Make signals wait until a batch has ended, before they interrupt the run."""
        self._began = True
        if self._batches is not None:
            _limit_epochs(trainer, self._batches)
        self._saved_step = trainer.global_step
        self.interruption.defer(deferred=True)

    def on_train_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Stop delaying signals: from now on, a signal ends the process immediately."""
        self.interruption.defer(deferred=False)

    def on_fit_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """End a training whose last step an earlier process took.

        Lightning does not tell callbacks that such a training ends, but they may replace weights
        then.
        """
        if not self._began:
            _call_callback_hooks(trainer, "on_train_end")

    def on_exception(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, exception: BaseException
    ) -> None:
        """Stop delaying signals, because no further batch will end."""
        self.interruption.deferred = False

    def on_train_batch_start(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, batch: Any, batch_idx: int
    ) -> None:
        """Restore the random state after a resumption. Save a state if it is due, or if a signal
        must end the run.
        """
        if self._random is not None:
            restore_random(self._random[trainer.global_rank])
            self._random = None
        if batch_idx % trainer.accumulate_grad_batches:
            return  # a checkpoint would not contain the pending gradients
        received = self.interruption.received is not None
        leaves = trainer.strategy.reduce_boolean_decision(received, all=False)
        since = trainer.global_step - self._saved_step
        if since and (leaves or (self.every and since >= self.every)):
            self._save(trainer)
        if leaves:
            self.interruption.leave()

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Save a state, unless gradients have been accumulated since the last optimiser step."""
        done = trainer.fit_loop.batch_idx + 1
        stepped = trainer.is_last_batch or done % trainer.accumulate_grad_batches == 0
        if trainer.state.fn == TrainerFn.FITTING and stepped:
            self._save(trainer)

    def _save(self, trainer: pl.Trainer) -> None:
        trainer.save_checkpoint(state_path(self.record), weights_only=False)
        self._saved_step = trainer.global_step

    def on_save_checkpoint(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        """Add the values of `RunState`, which Lightning does not save, to the checkpoint."""
        _rewind_fetched_batch(checkpoint["loops"]["fit_loop"])
        checkpoint[OWN] = RunState(
            identity=self.record.identity,
            step=trainer.global_step,
            batches=int(trainer.num_training_batches),
            metrics=read_log(self.record.metrics),
            wall_seconds=self.record.wall_seconds,
            random=random_of_all_ranks(trainer),
            should_stop=trainer.should_stop,
        )

    def on_load_checkpoint(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        """Restore the values of `RunState` from the checkpoint."""
        state: RunState = checkpoint[OWN]
        self._batches, self._random = state["batches"], state["random"]
        trainer.should_stop = state["should_stop"]


def _limit_epochs(trainer: pl.Trainer, batches: int) -> None:
    """Limit the number of batches in every epoch.

    Lightning sets the limit to the number of batches in the epoch in which a process starts. In a
    resumed run, that is another epoch than in a run without an interruption.
    """
    loader = trainer.fit_loop._combined_loader
    assert loader is not None
    loader.limits = [batches]
    trainer.fit_loop.max_batches = batches


def _rewind_fetched_batch(loop: Any) -> None:
    """Set the counters in a checkpoint of Lightning back by the batch that Lightning has fetched
    without starting to train on it, if there is one: the resumed run must still train on it.
    """
    progress = loop["epoch_loop.batch_progress"]
    if progress["current"]["ready"] > progress["current"]["started"]:
        progress["is_last_batch"] = False
        for counts in (progress["total"], progress["current"]):
            counts["ready"] -= 1
        for loader in loop["state_dict"]["combined_loader"]:
            loader["position"] = progress["current"]["ready"]


def random_of_all_ranks(trainer: pl.Trainer) -> list[dict[str, torch.Tensor]]:
    """Return the states of torch's global random generators ("cpu", "cuda"), a dictionary for each
    process; all processes must call this function.
    """
    mine = {"cpu": torch.get_rng_state()}
    if trainer.strategy.root_device.type == "cuda":
        mine["cuda"] = torch.cuda.get_rng_state()
    return of_all_processes(mine)


def restore_random(state: dict[str, torch.Tensor]) -> None:
    """Set the states of torch's global random generators of this process."""
    torch.set_rng_state(state["cpu"])
    if "cuda" in state:
        torch.cuda.set_rng_state(state["cuda"])


class AtomicCheckpointIO(TorchCheckpointIO):
    """A Lightning plug-in that writes checkpoints atomically, in a format from which loading
    executes no code.
    """

    def save_checkpoint(
        self, checkpoint: dict[str, object], path: Any, storage_options: Any | None = None
    ) -> None:
        """Write a checkpoint atomically: an interruption leaves the previous file or the complete
        new file.
        """
        write_tensors(Path(path), checkpoint)

    def load_checkpoint(
        self, path: Any, map_location: Any = "cpu", weights_only: bool | None = None
    ) -> dict[str, object]:
        """Return the content of a checkpoint file, read without executing code; `weights_only` is
        not used.
        """
        return read_tensors(Path(path), map_location)[0]


class WeightKeeper(Callback):
    """A callback that stores the weights which may be tested: the last, the best of validation, or
    an average.

    With `tested: average`, the weights are stored every `every` steps, and the last `average` of
    them are averaged. A run that ends before any weights are stored is tested with its last
    weights.
    """

    def __init__(self, record: Record) -> None:
        self.record = record
        self.settings: Any = record.config.checkpoint
        self.best: float | None = None

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, *rest: Any
    ) -> None:
        """Store the weights every `every` steps, and delete the oldest stored weights, if an
        average is to be tested.
        """
        step, every = trainer.global_step, self.settings.every
        if self.settings.tested != "average" or not self.record.writes or step % every:
            return
        write_tensors(self._path(step), pl_module.state_dict())
        self._path(step - every * self.settings.average).unlink(missing_ok=True)

    def on_validation_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Store the weights if they have the lowest validation nll so far, and if the best weights
        are to be tested.

        This callback comes before those of the user, so the model still has the weights that were
        validated, even if a callback such as an average of weights swaps them for a validation.
        """
        if self.settings.tested != "best" or trainer.state.fn != TrainerFn.FITTING:
            return
        assert isinstance(pl_module, Training)  # the module that a run trains
        nll = pl_module.evaluation.compute()["nll"]
        if self.best is None or nll < self.best:
            self.best = math.inf if math.isnan(nll) else nll
            if self.record.writes:
                write_tensors(self._path("best"), pl_module.state_dict())

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

    def load_weights_to_test(self, module: pl.LightningModule, steps: int) -> bool:
        """Load the weights to test into a module that has trained for `steps` steps.

        Returns:
            Whether weights were loaded; otherwise the module keeps its last weights.
        """
        if self.settings.tested == "best" and self.best is not None:
            load_weights(module, self._path("best"))
            return True
        stored = range(self.settings.every, steps + 1, self.settings.every)
        if self.settings.tested == "average" and stored:
            recent = (self._path(step) for step in stored[-self.settings.average :])
            module.load_state_dict(average([read_weights(path) for path in recent]))
            return True
        return False

    def _path(self, name: str | int) -> Path:
        """Return the path of stored weights: the best, or those of a step."""
        return self.record.checkpoints / f"{name}.pt"


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
