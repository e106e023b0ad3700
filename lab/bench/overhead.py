"""Measure the overhead of training steps, inside one process.

    python -m lab.bench.overhead STEPS OVERRIDES...

The trainer is that of a real run, with its record, its loggers and its callbacks. Its time is
divided into batch building, forward pass, backward pass, optimiser, and the rest, which is the
overhead: hooks, logging, gradient norms, Lightning's loops. Logging inside the forward pass is
overhead, too. Prints one JSON line with the proportion of each part in the wall time of STEPS
steps.
"""

import functools
import json
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytorch_lightning as pl
import torch
from omegaconf import DictConfig, OmegaConf

from ablate.data.batching import TrainingLoader
from ablate.process import keep_memory
from ablate.record.training import Record
from ablate.seeding import seed_dropout, seed_of
from ablate.train.job import make_model, prepare_data
from ablate.train.module import Training
from ablate.train.resolve import resolve
from ablate.train.resume import Interruption, StateKeeper
from ablate.train.tracking import Tracking
from ablate.train.trainer import make_trainer
from ablate.train.weights import WeightKeeper
from lab.bench.ours import compose

REST = "overhead"
WARM_UP = 50  # steps before the measured steps


class Clock:
    """Measures the seconds of each part of the work.

    At any time, the innermost active part is counted; if no part is active, REST is counted.
    """

    def __init__(self, now: Callable[[], float] = time.perf_counter) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self._now = now
        self._under_way = [REST]
        self._since = now()

    def restart(self) -> None:
        """Set all counts to 0; active parts stay active."""
        self._since = self._now()
        self.seconds.clear()

    def shares(self) -> dict[str, float]:
        """Return the proportion of each part in the time since the last restart."""
        self._settle()
        total = sum(self.seconds.values())
        return {part: seconds / total for part, seconds in self.seconds.items()}

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Count the time inside this context as that of the named part."""
        self._settle()
        self._under_way.append(name)
        try:
            yield
        finally:
            self._settle()
            self._under_way.pop()

    def timed(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that calls `function` and counts its time as that of the named part."""

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            with self.part(name):
                return function(*args, **kwargs)

        return call

    def _settle(self) -> None:
        now = self._now()
        self.seconds[self._under_way[-1]] += now - self._since
        self._since = now


class TimedLoader(TrainingLoader):
    """A training loader that counts the time of building each batch."""

    clock: Clock

    def __iter__(self) -> Iterator[Any]:  # type: ignore[override]
        batches = super().__iter__()
        while True:
            with self.clock.part("batches"):
                batch = next(batches, None)
            if batch is None:
                return
            yield batch


class TimedTranslation(Training):
    """A training module that counts the time of its parts."""

    clock: Clock

    def train_dataloader(self) -> TrainingLoader:
        """Return the training loader of the data as a `TimedLoader`."""
        loader = self.data.train_dataloader()
        loader.__class__ = TimedLoader
        loader.clock = self.clock
        return loader

    def configure_optimizers(self) -> Any:
        """Count the time of the optimiser.

        Lightning passes the optimiser a closure with forward and backward pass, which is counted
        separately.
        """
        configured: Any = super().configure_optimizers()
        optimizer, clock = configured["optimizer"], self.clock
        step, zero_grad = optimizer.step, optimizer.zero_grad

        @functools.wraps(step)  # copies an attribute that the learning-rate schedule checks
        def timed_step(closure: Callable[[], Any]) -> Any:
            return step(clock.timed(REST, closure))

        optimizer.step = clock.timed("optimiser", timed_step)
        optimizer.zero_grad = clock.timed("optimiser", zero_grad)
        return configured

    def training_step(self, *args: Any) -> torch.Tensor:
        """Count the time of the forward pass."""
        with self.clock.part("forward"):
            return super().training_step(*args)

    def log(self, *args: Any, **kwargs: Any) -> None:
        """Count the time of logging as overhead, also inside other parts."""
        with self.clock.part(REST):
            super().log(*args, **kwargs)

    def backward(self, *args: Any, **kwargs: Any) -> None:
        """Count the time of the backward pass."""
        with self.clock.part("backward"):
            super().backward(*args, **kwargs)


class Window(pl.Callback):
    """Restarts the clock after the warm-up, and ends training `steps` steps later.

    `shares` then has the proportion of each part in the time between.
    """

    def __init__(self, clock: Clock, steps: int) -> None:
        self.clock = clock
        self.steps = steps
        self.shares: dict[str, float] = {}

    def on_train_batch_end(self, trainer: pl.Trainer, *rest: Any) -> None:
        """Start or end the measurement after the right number of steps."""
        if trainer.global_step == WARM_UP:
            self.clock.restart()
        if trainer.global_step == WARM_UP + self.steps:
            self.shares = self.clock.shares()
            trainer.should_stop = True


def measure(config: DictConfig, steps: int) -> dict[str, float]:
    """Train as a real run does, and return the proportion of each part in the wall time."""
    job = resolve(config)
    data = prepare_data(job)
    record = Record(config, data.fingerprints, job.initial.fingerprint())
    checkpoint: Any = OmegaConf.to_object(config.checkpoint)
    clock = Clock()
    with Interruption() as interruption, record:
        record.begin()
        with Tracking(job.loggers, record) as tracking:
            task = TimedTranslation(job, make_model(job, data), data)
            task.clock = clock
            window = Window(clock, steps)
            weights = WeightKeeper(record.checkpoints, checkpoint, writes=record.writes)
            states = StateKeeper(record, checkpoint.save_every, interruption)
            trainer = make_trainer(job, tracking, [weights, states, window])
            trainer.limit_val_batches = 0
            seed_dropout(seed_of(config), trainer.global_rank)
            trainer.fit(task, task.train_dataloader(), data.val_dataloader())
    return window.shares


def main() -> None:
    """Measure the run that the command line describes, and print the proportions."""
    steps, *overrides = sys.argv[1:]
    with tempfile.TemporaryDirectory() as results:
        config = compose([*overrides, f"paths.results={results}"])
        torch.set_num_threads(config.threads)
        keep_memory()
        shares = measure(config, int(steps))
    print(json.dumps({"overhead": shares[REST], "shares": shares}))


if __name__ == "__main__":
    main()
