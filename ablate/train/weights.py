"""Choose the weights of a run to test, and store the candidates during training."""

import math
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
import torch
from pytorch_lightning.callbacks import Callback
from pytorch_lightning.trainer.states import TrainerFn

from ablate.config.schema import Checkpoint
from ablate.record.files import write_tensors
from ablate.record.weights import Weights, load_weights, read_weights
from ablate.train.module import Training


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
        nll = pl_module.validation.compute()["nll"]
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
