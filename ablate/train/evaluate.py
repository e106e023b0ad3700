"""Testing the weights of a trained run: its scores, its translations."""

from typing import Any

import pytorch_lightning as pl
from omegaconf import DictConfig

from ablate.record.training import Record
from ablate.train.module import Training


def evaluate(
    config: DictConfig, trainer: pl.Trainer, task: Training, record: Record
) -> dict[str, Any]:
    """Test the weights that the task holds; keep every translation, and write the result."""
    tests = record.current = record.evaluation
    tests.begin()
    task.measured = {}
    for split in config.test_splits:
        task.split = split
        with tests.phase("test"):
            trainer.test(task, dataloaders=task.data.evaluation_loader(split), verbose=False)
        tests.keep(split, task.evaluation.hypotheses(), task.evaluation.statistics())
    about = {"signatures": task.evaluation.signatures(), "weights": record.weights_digest}
    return tests.finish("finished", task.measured, **about)
