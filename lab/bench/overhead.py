"""What a training step costs beyond its own work, timed inside one process.

    python -m lab.bench.overhead STEPS OVERRIDES...

The trainer is that of a real run, with its record, its loggers and its callbacks. Its time is
divided between batch building, forward, backward, optimiser, and all the rest, which is the
overhead: hooks, logging, gradient norms, Lightning's own loops. Logging from within the forward
pass counts as overhead too. One JSON line: the shares of the wall time of STEPS steps.
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

from ablate.data.loader import TrainingLoader
from ablate.process import keep_memory
from ablate.record.training import Record
from ablate.seeding import seed_dropout, seed_of
from ablate.train.interruption import Interruption
from ablate.train.module import Training
from ablate.train.prepare import make_model, prepare_data
from ablate.train.resolve import resolve
from ablate.train.resume import StateKeeper
from ablate.train.tracking import Tracking
from ablate.train.trainer import make_trainer
from ablate.train.weights import WeightKeeper
from lab.bench.ours import compose

REST = "overhead"
WARM_UP = 50  # steps before the window


class Clock:
    """Gives every moment to the innermost part that is under way, and to REST outside of all."""

    def __init__(self, now: Callable[[], float] = time.perf_counter) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self._now = now
        self._under_way = [REST]
        self._since = now()

    def restart(self) -> None:
        """Forget what has been counted; parts under way stay so."""
        self._since = self._now()
        self.seconds.clear()

    def shares(self) -> dict[str, float]:
        """Return the share of the time since the last restart that each part has had."""
        self._settle()
        total = sum(self.seconds.values())
        return {part: seconds / total for part, seconds in self.seconds.items()}

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Count what happens inside under a name."""
        self._settle()
        self._under_way.append(name)
        try:
            yield
        finally:
            self._settle()
            self._under_way.pop()

    def timed(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function, its calls counted under a name."""

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
    """The training batches, the making of each one counted."""

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
    """The task, its parts counted."""

    clock: Clock

    def train_dataloader(self) -> TrainingLoader:
        """Return the loader of the data, timed."""
        loader = self.data.train_dataloader()
        loader.__class__ = TimedLoader
        loader.clock = self.clock
        return loader

    def configure_optimizers(self) -> Any:
        """Time the optimiser; the closure that Lightning gives it is no part of its work."""
        configured: Any = super().configure_optimizers()
        optimizer, clock = configured["optimizer"], self.clock
        step, zero_grad = optimizer.step, optimizer.zero_grad

        @functools.wraps(step)  # it bears the mark that the schedule looks for
        def timed_step(closure: Callable[[], Any]) -> Any:
            return step(clock.timed(REST, closure))

        optimizer.step = clock.timed("optimiser", timed_step)
        optimizer.zero_grad = clock.timed("optimiser", zero_grad)
        return configured

    def training_step(self, *args: Any) -> torch.Tensor:
        """Count the forward pass."""
        with self.clock.part("forward"):
            return super().training_step(*args)

    def log(self, *args: Any, **kwargs: Any) -> None:
        """Count logging as overhead wherever it happens."""
        with self.clock.part(REST):
            super().log(*args, **kwargs)

    def backward(self, *args: Any, **kwargs: Any) -> None:
        """Count the backward pass."""
        with self.clock.part("backward"):
            super().backward(*args, **kwargs)


class Window(pl.Callback):
    """Restarts the clock after the warm-up, and reads it after so many more steps."""

    def __init__(self, clock: Clock, steps: int) -> None:
        self.clock = clock
        self.steps = steps
        self.shares: dict[str, float] = {}

    def on_train_batch_end(self, trainer: pl.Trainer, *rest: Any) -> None:
        """Begin or end the window."""
        if trainer.global_step == WARM_UP:
            self.clock.restart()
        if trainer.global_step == WARM_UP + self.steps:
            self.shares = self.clock.shares()
            trainer.should_stop = True


def measure(config: DictConfig, steps: int) -> dict[str, float]:
    """Train as a run would, and return the share of each part."""
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
    """Print the shares for the command line."""
    steps, *overrides = sys.argv[1:]
    with tempfile.TemporaryDirectory() as results:
        config = compose([*overrides, f"paths.results={results}"])
        torch.set_num_threads(config.threads)
        keep_memory()
        shares = measure(config, int(steps))
    print(json.dumps({"overhead": shares[REST], "shares": shares}))


if __name__ == "__main__":
    main()
