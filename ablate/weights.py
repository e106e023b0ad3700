"""Which weights of a run are tested, and which are kept."""

import shutil
from pathlib import Path

import torch
from pytorch_lightning.callbacks import Callback, ModelCheckpoint
from pytorch_lightning.utilities import rank_zero_only
from torch import Tensor

from ablate.schema import Checkpoint
from ablate.task import Translation

Weights = dict[str, Tensor]


class WeightKeeper:
    """Keeps the last, the best and the last n checkpoints; at the end only the tested weights."""

    def __init__(self, folder: Path, checkpoint: Checkpoint, validate_every: int) -> None:
        self.folder = folder
        self.checkpoint = checkpoint
        self.kept = folder / "checkpoints"
        self._last = ModelCheckpoint(
            self.kept,
            filename="last",
            every_n_train_steps=validate_every,
            enable_version_counter=False,
        )
        self._best = ModelCheckpoint(
            self.kept, filename="best", monitor="val/nll", save_weights_only=True
        )
        self._recent = ModelCheckpoint(
            self.kept,
            filename="recent-{step}",
            monitor="step",
            mode="max",
            save_top_k=checkpoint.average,
            every_n_train_steps=checkpoint.every,
            save_weights_only=True,
        )

    def callbacks(self) -> list[Callback]:
        """What the trainer needs for it."""
        extra = {"best": [self._best], "average": [self._recent], "last": []}
        return [self._last, *extra[self.checkpoint.tested]]

    def load_tested(self, task: Translation) -> None:
        """Put the weights that shall be tested into the model."""
        if self.checkpoint.tested == "best":
            task.load_state_dict(_load(Path(self._best.best_model_path)))
        if self.checkpoint.tested == "average":
            paths = sorted(self._recent.best_k_models)
            task.load_state_dict(average([_load(Path(path)) for path in paths]))

    @rank_zero_only
    def keep(self, task: Translation) -> None:
        """Save the tested weights and delete all other checkpoints."""
        torch.save(task.model.state_dict(), self.folder / "weights.pt")
        shutil.rmtree(self.kept, ignore_errors=True)


def average(weights: list[Weights]) -> Weights:
    """Mean of every floating-point entry, in float64; other entries are taken from the last."""
    mean = dict(weights[-1])
    for name, value in mean.items():
        if value.is_floating_point():
            stacked = torch.stack([w[name] for w in weights]).double()
            mean[name] = stacked.mean(0).to(value.dtype)
    return mean


def _load(path: Path) -> Weights:
    state: Weights = torch.load(path, map_location="cpu", weights_only=True)["state_dict"]
    return state
