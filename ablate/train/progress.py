"""One bar for the steps of a run, and a short-lived one for every validation and test."""

from typing import Any

import pytorch_lightning as pl
from pytorch_lightning.callbacks import Callback
from tqdm import tqdm

SHOWN = {"train/nll": "nll", "val/nll": "val nll", "val/bleu": "val BLEU"}


class StepBar(Callback):
    """Counts optimiser steps, where Lightning's own bars count the batches of an epoch."""

    def on_fit_start(self, trainer: pl.Trainer, module: pl.LightningModule) -> None:
        """Begin at the first step."""
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
        """Show the step and the newest values."""
        known = trainer.callback_metrics
        values = {short: f"{known[name]:.2f}" for name, short in SHOWN.items() if name in known}
        self.steps.set_postfix(values, refresh=False)
        self.steps.update(trainer.global_step - self.steps.n)

    def on_fit_end(self, trainer: pl.Trainer, module: pl.LightningModule) -> None:
        """Leave the bar as it is."""
        self.steps.close()

    def on_exception(
        self, trainer: pl.Trainer, module: pl.LightningModule, exception: BaseException
    ) -> None:
        """Leave the terminal in order."""
        if hasattr(self, "steps"):
            self.steps.close()

    def on_validation_start(self, trainer: pl.Trainer, module: pl.LightningModule) -> None:
        """Begin a bar for the batches."""
        self._evaluate("validation", sum(map(int, trainer.num_val_batches)))

    def on_test_start(self, trainer: pl.Trainer, module: pl.LightningModule) -> None:
        """Begin a bar for the batches."""
        self._evaluate("test", sum(map(int, trainer.num_test_batches)))

    def on_validation_batch_end(self, *arguments: Any) -> None:
        """Count a batch."""
        self.batches.update()

    def on_test_batch_end(self, *arguments: Any) -> None:
        """Count a batch."""
        self.batches.update()

    def on_validation_end(self, trainer: pl.Trainer, module: pl.LightningModule) -> None:
        """Take the bar away."""
        self.batches.close()

    def on_test_end(self, trainer: pl.Trainer, module: pl.LightningModule) -> None:
        """Take the bar away."""
        self.batches.close()

    def _evaluate(self, name: str, total: int) -> None:
        self.batches = tqdm(total=total, desc=name, unit=" batches", leave=False)
