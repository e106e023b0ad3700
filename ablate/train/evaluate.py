"""Test a trained model: compute scores and measures, and store translations or sample texts."""

import copy
from typing import Any

import pytorch_lightning as pl
from omegaconf import DictConfig

from ablate.errors import UserError
from ablate.metric.tokens import derived
from ablate.record.training import Record
from ablate.record.types import Result
from ablate.search import Sampling
from ablate.seeding import seed_of
from ablate.train.apply import make_writer
from ablate.train.job import Job
from ablate.train.module import Training

SAMPLES, TOKENS = 3, 200
SAMPLING = Sampling(temperature=0.8, top=None)


def evaluate(job: Job, trainer: pl.Trainer, task: Training, record: Record) -> Result:
    """Test the current weights of `task`, store every translation, write the result to `record`,
    and return the result.

    With `weights=initial` in the config, the initial weights are tested instead. A run that only
    tunes has no test splits: it is neither measured nor sampled.
    """
    config, tests = job.config, record.evaluation
    record.current = tests
    tests.begin()
    check_text(config, task, record)
    task.measured = {}
    if config.weights == "initial":
        task.load_initial()
    task.fix_weights()
    for split in config.test_splits:
        task.split = split
        with tests.phase("test"):
            trainer.test(task, dataloaders=task.data.evaluation_loader(split), verbose=False)
        made = task.evaluation.hypotheses(), task.evaluation.statistics()
        tests.keep(split, *made, task.data.groups(split))
        sides = task.data.sources(split), made[0], task.data.references(split)
        for name, metric in job.metrics.items():
            task.measured[f"{split}/{name}"] = float(metric(*sides))
    task.fix_weights()
    task.measured |= derived(task.measured, task.levels)
    if job.measure is not None and config.test_splits:
        with tests.phase("measure"):
            # a copy in float64 on the CPU
            values = job.measure(copy.deepcopy(task.model).cpu().double().eval(), task.data)
        task.measured |= {f"measure/{name}": value for name, value in values.items()}
    if task.task.writes and config.test_splits:
        writer = make_writer(config, task.model, task.data.tokenizers.tgt, task.task)
        drawn = {"count": SAMPLES, "tokens": TOKENS, "seed": seed_of(config)}
        tests.keep_samples(writer("", sampling=SAMPLING, **drawn))
    about = {"signatures": task.evaluation.signatures(), "weights": record.weights_digest}
    return tests.finish("finished", task.measured, **about)


def check_text(config: DictConfig, task: Training, record: Record) -> None:
    """Raise UserError if the files of a test split have changed since the run began."""
    fingerprints: Any = record.evaluation.parts["data"]
    for split in config.test_splits:
        if task.data.fingerprint_of_test(split) != fingerprints.get(split, ""):
            raise UserError(
                f"the files of {split} have changed since this run began; the same command, typed "
                "again, tests the trained weights with the new files"
            )
