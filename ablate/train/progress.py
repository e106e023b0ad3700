"""Show the progress and speed of a run: a progress bar on a terminal, otherwise a line per
validation.
"""

import time
from datetime import timedelta
from typing import Any

import pytorch_lightning as pl
from pytorch_lightning.callbacks import Callback
from pytorch_lightning.trainer.states import TrainerFn
from tqdm import tqdm

from ablate.data.batch import Batch

SHOWN = {"train/nll": "nll", "val/nll": "val nll", "val/bleu": "val BLEU"}
SPEED = "train/tokens_per_second"


class Pace(Callback):
    """A callback that logs the number of target tokens per second on all devices.

    Padding tokens and the time of validations do not count.
    """

    def __init__(self) -> None:
        self.speed = 0.0
        self._seconds = 0.0  # training time since the last logged speed
        self._tokens = 0

    def on_train_start(self, trainer: pl.Trainer, module: pl.LightningModule) -> None:
        """Start the clock by which the speed of training is measured."""
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
        self._tokens += batch.tokens or 0
        if self.logs(trainer):
            now = time.perf_counter()
            seconds = self._seconds + now - self._since
            self.speed = self._tokens * trainer.world_size / seconds
            self._tokens, self._seconds, self._since = 0, 0.0, now
            module.log(SPEED, self.speed)

    def logs(self, trainer: pl.Trainer) -> bool:
        """Return whether the trainer has logged metrics at the step that has just ended."""
        every: int = trainer.log_every_n_steps  # type: ignore[attr-defined] # its connector's
        return bool(every) and trainer.global_step % every == 0

    def values(self, trainer: pl.Trainer) -> dict[str, str]:
        """Return the latest loss metrics, the learning rate and the speed as text, by short
        names.
        """
        metrics = trainer.callback_metrics
        values = {short: f"{metrics[name]:.2f}" for name, short in SHOWN.items() if name in metrics}
        speed = {"tokens/s": f"{self.speed:,.0f}"} if self.speed else {}
        return {**values, "lr": f"{trainer.optimizers[0].param_groups[0]['lr']:.3g}", **speed}


class Lines(Pace):
    """A `Pace` that prints a line at every validation, for output that goes to a file."""

    def on_validation_end(self, trainer: pl.Trainer, module: pl.LightningModule) -> None:
        """Print step, metrics, learning rate, speed, and the estimated time until the last step,
        including validations.
        """
        super().on_validation_end(trainer, module)
        if trainer.state.fn != TrainerFn.FITTING:
            return
        values = "  ".join(f"{name} {value}" for name, value in self.values(trainer).items())
        done = max(1, trainer.global_step - self._first)
        seconds = (time.perf_counter() - self._begun) / done
        left = timedelta(seconds=round(seconds * (trainer.max_steps - trainer.global_step)))
        step = f"step {trainer.global_step:,} of {trainer.max_steps:,}"
        print(f"{step}  {values}  {left} left", flush=True)


class Bar(Pace):
    """A `Pace` with a progress bar of optimiser steps, and a second bar of batches during an
    evaluation; Lightning's own progress bar counts batches of an epoch.
    """

    def on_fit_start(self, trainer: pl.Trainer, module: pl.LightningModule) -> None:
        """Open the progress bar."""
        total = trainer.max_steps if trainer.max_steps > 0 else None
        self.steps = tqdm(total=total, desc="training", unit=" steps", dynamic_ncols=True)

    def on_train_batch_end(self, trainer: pl.Trainer, *arguments: Any) -> None:
        """Move the progress bar to the current step, and show the latest loss metrics, the learning
        rate and the speed beside it.
        """
        super().on_train_batch_end(trainer, *arguments)
        if self.logs(trainer):  # on a GPU, reading a metric waits for the device
            self.steps.set_postfix(self.values(trainer), refresh=False)
        self.steps.update(trainer.global_step - self.steps.n)

    def on_fit_end(self, *arguments: Any) -> None:
        """Close the progress bar, and leave its last state on the terminal."""
        if hasattr(self, "steps"):
            self.steps.close()

    def on_exception(self, *arguments: Any) -> None:
        """Close the progress bar, so that the terminal stays usable."""
        self.on_fit_end()

    def on_validation_start(self, trainer: pl.Trainer, module: pl.LightningModule) -> None:
        """Open a second progress bar for the batches of validation."""
        super().on_validation_start(trainer, module)
        self._open("validation", trainer.num_val_batches)

    def on_test_start(self, trainer: pl.Trainer, module: pl.LightningModule) -> None:
        """Open a second progress bar for the batches of a test."""
        self._open("test", trainer.num_test_batches)

    def _open(self, name: str, batches: list[int | float]) -> None:
        total = sum(map(int, batches))
        self.batches = tqdm(total=total, desc=name, unit=" batches", leave=False)

    def on_validation_batch_end(self, *arguments: Any) -> None:
        """Advance the second progress bar by a batch."""
        self.batches.update()

    def on_test_batch_end(self, *arguments: Any) -> None:
        """Advance the second progress bar by a batch."""
        self.batches.update()

    def on_validation_end(self, trainer: pl.Trainer, module: pl.LightningModule) -> None:
        """Remove the second progress bar."""
        super().on_validation_end(trainer, module)
        self.batches.close()
        if trainer.state.fn == TrainerFn.FITTING:
            self.steps.set_postfix(self.values(trainer), refresh=False)

    def on_test_end(self, *arguments: Any) -> None:
        """Remove the second progress bar."""
        self.batches.close()
