"""Show the progress and speed of a run: a progress bar on a terminal, otherwise a line per
validation.
"""

import sys
import time
from datetime import timedelta
from typing import Any

import pytorch_lightning as pl
import torch
from pytorch_lightning.callbacks import Callback
from pytorch_lightning.trainer.states import TrainerFn
from tqdm import tqdm

from ablate.data.batch import Batch
from ablate.data.vocabulary import PAD

SHOWN = {"train/nll": "nll", "val/nll": "val nll", "val/bleu": "val BLEU"}
SPEED = "train/tokens_per_second"


def progress_callbacks(*, shown: bool) -> list[Callback]:
    """Return the callbacks that measure the speed of a run and, if `shown`, print its progress."""
    pace = Pace()
    displays: list[Callback] = [StepBar(pace) if sys.stderr.isatty() else StepLines(pace)]
    return [pace, *(displays if shown else [])]


class Pace(Callback):
    """A callback that logs the number of target tokens per second on all devices.

    Padding tokens and the time of validations do not count.
    """

    def __init__(self) -> None:
        self.speed = 0.0
        self._seconds = 0.0  # training time since the last logged speed
        self._tokens = torch.zeros((), dtype=torch.int64)

    def on_train_start(self, trainer: pl.Trainer, module: pl.LightningModule) -> None:
        """Start the clock by which the speed of training is measured."""
        self._tokens = self._tokens.to(module.device)
        self._first, self._begun = trainer.global_step, time.perf_counter()
        self._since = self._begun

    def on_validation_start(self, trainer: pl.Trainer, module: pl.LightningModule) -> None:
        """Stop the clock, because validation does not count as training time."""
        if trainer.state.fn == TrainerFn.FITTING:
            self._seconds += time.perf_counter() - self._since

    def on_validation_end(self, trainer: pl.Trainer, module: pl.LightningModule) -> None:
        """Start the clock of training time again."""
        self._since = time.perf_counter()

    def on_train_batch_end(
        self,
        trainer: pl.Trainer,
        module: pl.LightningModule,
        outputs: Any,
        batch: Batch,
        batch_idx: int,
    ) -> None:
        """Count the tokens of a batch; log the speed at the steps at which other metrics are
        logged.
        """
        self._tokens += (batch.targets != PAD).sum()
        every = trainer.log_every_n_steps  # type: ignore[attr-defined] # its connector's
        if every and trainer.global_step % every == 0:
            now = time.perf_counter()
            seconds = self._seconds + now - self._since
            self.speed = float(self._tokens) * trainer.world_size / seconds
            self._tokens.zero_()
            self._seconds, self._since = 0.0, now
            module.log(SPEED, self.speed)

    def left(self, trainer: pl.Trainer) -> timedelta:
        """Return the estimated time until the last step, including validations."""
        done = max(1, trainer.global_step - self._first)
        seconds = (time.perf_counter() - self._begun) / done
        return timedelta(seconds=round(seconds * (trainer.max_steps - trainer.global_step)))

    def values(self, trainer: pl.Trainer) -> dict[str, str]:
        """Return the latest loss metrics, the learning rate and the speed as text, by short
        names.
        """
        metrics = trainer.callback_metrics
        values = {short: f"{metrics[name]:.2f}" for name, short in SHOWN.items() if name in metrics}
        speed = {"tokens/s": f"{self.speed:,.0f}"} if self.speed else {}
        return {**values, "lr": f"{trainer.optimizers[0].param_groups[0]['lr']:.3g}", **speed}


class StepLines(Callback):
    """A callback that prints a line at every validation, for output that goes to a file."""

    def __init__(self, pace: Pace) -> None:
        self.pace = pace

    def on_validation_end(self, trainer: pl.Trainer, module: pl.LightningModule) -> None:
        """Print step, metrics, learning rate, speed and remaining time."""
        if trainer.state.fn != TrainerFn.FITTING:
            return
        values = "  ".join(f"{name} {value}" for name, value in self.pace.values(trainer).items())
        step = f"step {trainer.global_step:,} of {trainer.max_steps:,}"
        print(f"{step}  {values}  {self.pace.left(trainer)} left", flush=True)


class StepBar(Callback):
    """A progress bar of optimiser steps; Lightning's own progress bar counts batches of an
    epoch.
    """

    def __init__(self, pace: Pace) -> None:
        self.pace = pace

    def on_fit_start(self, trainer: pl.Trainer, module: pl.LightningModule) -> None:
        """Open the progress bar."""
        total = trainer.max_steps if trainer.max_steps > 0 else None
        self.steps = tqdm(total=total, desc="training", unit=" steps", dynamic_ncols=True)

    def on_train_batch_end(
        self,
        trainer: pl.Trainer,
        module: pl.LightningModule,
        outputs: Any,
        batch: Any,
        batch_idx: int,
    ) -> None:
        """Move the progress bar to the current step, and show the latest loss metrics, the learning
        rate and the speed beside it.
        """
        self.steps.set_postfix(self.pace.values(trainer), refresh=False)
        self.steps.update(trainer.global_step - self.steps.n)

    def on_fit_end(self, trainer: pl.Trainer, module: pl.LightningModule) -> None:
        """Close the progress bar, and leave its last state on the terminal."""
        self.steps.close()

    def on_exception(
        self, trainer: pl.Trainer, module: pl.LightningModule, exception: BaseException
    ) -> None:
        """Close the progress bar, so that the terminal stays usable."""
        if hasattr(self, "steps"):
            self.steps.close()

    def on_validation_start(self, trainer: pl.Trainer, module: pl.LightningModule) -> None:
        """Open a second progress bar for the batches of validation."""
        self._evaluate("validation", sum(map(int, trainer.num_val_batches)))

    def on_test_start(self, trainer: pl.Trainer, module: pl.LightningModule) -> None:
        """Open a second progress bar for the batches of a test."""
        self._evaluate("test", sum(map(int, trainer.num_test_batches)))

    def on_validation_batch_end(self, *arguments: Any) -> None:
        """Advance the progress bar of validation by a batch."""
        self.batches.update()

    def on_test_batch_end(self, *arguments: Any) -> None:
        """Advance the progress bar of the test by a batch."""
        self.batches.update()

    def on_validation_end(self, trainer: pl.Trainer, module: pl.LightningModule) -> None:
        """Remove the progress bar of validation."""
        self.batches.close()

    def on_test_end(self, trainer: pl.Trainer, module: pl.LightningModule) -> None:
        """Remove the progress bar of the test."""
        self.batches.close()

    def _evaluate(self, name: str, total: int) -> None:
        self.batches = tqdm(total=total, desc=name, unit=" batches", leave=False)
