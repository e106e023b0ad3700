"""Log the course of a run to its own folder and to the loggers that the config names, and print its
data, each validation and its result.

A logger that fails stops logging, but the run continues. Every logger of the config is wrapped in a
`GuardedLogger`. The first error of any method or property of a logger becomes a warning. From then
on, the logger is replaced by Lightning's `DummyLogger`, which accepts every call and does nothing.
"""

import inspect
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
from omegaconf import DictConfig, OmegaConf
from pytorch_lightning.callbacks import Callback
from pytorch_lightning.loggers.logger import DummyLogger, Logger
from pytorch_lightning.trainer.states import TrainerFn
from pytorch_lightning.utilities import rank_zero_only

from ablate.config.labels import arm_label
from ablate.config.settle import hydra_node, is_swept
from ablate.data.batching import Batch
from ablate.data.module import TextData
from ablate.errors import UserError, class_and_line, say_once
from ablate.record.results import Result, choices, cut, levels, say
from ablate.record.training import Record
from ablate.train.job import READ, Job
from ablate.train.module import Training

SPEED = "train/tokens_per_second"
LONGEST = 128  # maximum length of the title of a run
LOGGED = "logged"  # folder of a sweep in which loggers write


class RunLogger:
    """A logger that follows a run from its start to its end, and logs more than metrics, such as
    sample texts and pictures. The methods of this base class do nothing.
    """

    def check(self) -> None:
        """Raise UserError for settings that cannot work; this is called before any work."""

    def begin(self, record: Record) -> None:
        """Start to log a run; the folder of the run exists."""

    def validated(self, task: Training) -> None:
        """Log samples of the model's output after a validation."""

    def show(self, task: Training) -> None:
        """Log pictures of the model, such as attention maps; the model has the weights that will be
        tested.
        """

    def end(self, result: Result) -> None:
        """Log the final result of the run (the content of result.json), or its failure."""

    def abandon(self) -> None:
        """Release the resources of the logger after a failure; no other method is called
        afterwards.
        """


class GuardedLogger:
    """A wrapper of a logger that turns its errors into warnings; `isinstance` sees the logger's
    class.

    Args:
        name: name of the logger, for the warning.
        make: function that returns the logger.
        note: function that keeps the warning for the end of a sweep.
        steps_done: function that returns the number of optimiser steps.

    Raises:
        UserError: `make` rejects its arguments. Wrong arguments are not a failure of the logger.
    """

    def __init__(
        self,
        name: str,
        make: Callable[[], Logger],
        note: Callable[[str], None],
        steps_done: Callable[[], int] = lambda: 0,
    ) -> None:
        self._name, self._note, self._steps_done = name, note, steps_done
        self._logger: Any = DummyLogger()
        with self._guarded(UserError):
            self._logger = make()
        self._kind = type(self._logger)

    @property  # type: ignore[misc]  # callbacks search for loggers of a class
    def __class__(self) -> type:
        return self._kind

    def log_metrics(self, metrics: Mapping[str, float], step: int | None = None) -> None:
        """Log metrics at the number of optimiser steps that `steps_done` returns.

        Lightning's own `step` counts from 0 during training and from 1 afterwards.
        """
        self._call("log_metrics", metrics, self._steps_done())

    def __getattr__(self, name: str) -> Any:
        # Lightning tests for attributes that do not exist
        missing = () if hasattr(type(self._logger), name) else (AttributeError,)
        with self._guarded(*missing):
            value = getattr(self._logger, name)
            return partial(self._call, name) if inspect.isroutine(value) else value
        return getattr(self._logger, name)

    def _call(self, name: str, *arguments: Any, **named: Any) -> Any:
        with self._guarded():
            return getattr(self._logger, name)(*arguments, **named)

    @contextmanager
    def _guarded(self, *reraised: type[Exception]) -> Iterator[None]:
        """If a `with` block raises an exception, suppress it, print a warning, let the logger
        release its resources, and replace the logger by a `DummyLogger`. Exceptions of the types in
        `reraised` pass unchanged.
        """
        try:
            yield
        except reraised:
            raise
        except Exception as error:
            failed, self._logger = self._logger, DummyLogger()
            sentence = f"{self._name} failed ({class_and_line(error)})"
            self._note(sentence)
            print(
                f"warning: {sentence}, so it logs nothing more of this run. The run goes on, and "
                "the run's folder will have all results.",
                file=sys.stderr,
                flush=True,
            )
            with suppress(Exception):  # the warning has said that the logger failed
                failed.abandon() if isinstance(failed, RunLogger) else failed.finalize("failed")


Loggers = Mapping[str, partial[Logger]]  # factories, by their keys in the config
# the lines of a repeated run are equal except for their times, so these metrics are left out
LEFT_OUT = ("epoch", SPEED)


class RecordLogger(DummyLogger):
    """A logger that appends metrics to the file metrics.jsonl in the run's folder.

    Every run has this logger, whatever the config sets for `logger`.
    """

    def __init__(self, record: Record, steps_done: Callable[[], int]) -> None:
        super().__init__()
        self.record, self.steps_done = record, steps_done

    @property
    def name(self) -> str:
        """The name of the folder in which Lightning's callbacks write files."""
        return "record"

    def log_metrics(self, metrics: Mapping[str, float], step: int | None = None) -> None:
        """Append the metrics to the file as a JSON line."""
        values = {k: float(v) for k, v in metrics.items() if k not in LEFT_OUT}
        self.record.log(values, self.steps_done())


VALIDATED = {"val/nll": "val nll", "val/bleu": "val BLEU"}
SHOWN = {"train/nll": "nll", **VALIDATED, "train/lr": "lr", SPEED: "tokens/s"}


class Tracking(Callback):
    """A context manager that starts the loggers with a run and closes them with the run, also if
    the run fails. As a callback, it tells the loggers when a validation has ended, prints a line
    at every validation if the config asks for it, and measures the time of validations and the
    speed of training: the number of target tokens per second on all devices. Padding tokens and the
    time of validations do not count.

    The config node `logger` may name any of Lightning's loggers, or several. A `RunLogger` receives
    further events. Only an error while writing the run's own folder ends the run.
    """

    def __init__(self, loggers: Loggers, record: Record) -> None:
        self.record = record
        self.shown = record.writes and bool(record.config.trainer.enable_progress_bar)
        self.validating = 0.0  # seconds of validations since the first step of the run
        self._tokens = 0
        self._trainer: pl.Trainer | None = None
        guarded: list[Any] = [
            GuardedLogger(
                f"{key} ({getattr(make.func, '__name__', 'a logger')})",
                partial(make_logger, make, str(folder_of_loggers(record))),
                record.logger_failures.append,
                self.steps_done,
            )
            for key, make in loggers.items()
        ]
        self.loggers: list[Logger] = [RecordLogger(record, self.steps_done), *guarded]
        self._run_loggers = [logger for logger in guarded if isinstance(logger, RunLogger)]

    def steps_done(self) -> int:
        """Return the number of optimiser steps, the x-axis of logged values.

        Lightning's own numbers count from 0 during training and from 1 afterwards.
        """
        return self._trainer.global_step if self._trainer else 0

    def setup(self, trainer: pl.Trainer, pl_module: pl.LightningModule, stage: str) -> None:
        """Store the trainer, which counts the steps."""
        self._trainer = trainer

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Start the clock by which the speed of training is measured."""
        self._first, self._begun = trainer.global_step, time.perf_counter()
        self._since = self._begun  # moved by the time of each validation

    def on_validation_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Start the clock of this validation."""
        self._validation = time.perf_counter()

    def on_validation_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Let the loggers log samples of the model's output.

        The model still has the weights that were validated, because this callback comes before
        those of the user, which may swap them.
        """
        assert isinstance(pl_module, Training)  # the module that a run trains
        for logger in self._run_loggers:
            logger.validated(pl_module)

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Stop the clock of this validation; print step, metrics, learning rate, speed, and the
        estimated time until the last step, including validations.
        """
        if trainer.state.fn != TrainerFn.FITTING:
            return
        now, step = time.perf_counter(), trainer.global_step
        self.validating += now - self._validation
        self._since += now - self._validation
        seconds = (now - self._begun) / max(1, step - self._first) * (trainer.max_steps - step)
        if self.shown:
            metrics, names = trainer.callback_metrics, SHOWN if _has_logged(trainer) else VALIDATED
            shown = {text: metrics[name] for name, text in names.items() if name in metrics}
            values = "  ".join(f"{name} {value:.4g}" for name, value in shown.items())
            left = timedelta(seconds=round(seconds))
            print(f"step {step:,} of {trainer.max_steps:,}  {values}  {left} left", flush=True)

    def on_train_batch_end(
        self,
        trainer: pl.Trainer,
        pl_module: pl.LightningModule,
        outputs: Any,
        batch: Batch,
        batch_idx: int,
    ) -> None:
        """Count the tokens of a batch; log the speed at the steps at which other metrics are
        logged.
        """
        self._tokens += batch.tokens or 0
        if _has_logged(trainer):
            now = time.perf_counter()
            pl_module.log(SPEED, self._tokens * trainer.world_size / (now - self._since))
            self._tokens, self._since = 0, now

    def state_dict(self) -> dict[str, float]:
        """Return the seconds of validations, which a resumed run continues to count."""
        return {"validating": self.validating}

    def load_state_dict(self, state_dict: dict[str, float]) -> None:
        """Restore the seconds of validations of the interrupted run."""
        self.validating = state_dict["validating"]

    def show(self, task: Training) -> None:
        """Let the loggers log pictures of the tested model, such as attention maps."""
        for logger in self._run_loggers:
            logger.show(task)

    def __enter__(self) -> "Tracking":
        for logger in self._run_loggers:
            logger.begin(self.record)
        if self.record.writes:
            for each in self.loggers:
                each.log_hyperparams(hyperparameters(self.record))
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        result: Result | None = None if error else self.record.stored_result()
        if result is None:
            text = f"{type(error).__name__}: {error}" if error else "no result was written"
            seconds = self.record.seconds
            result = {"status": "failed", "error": text, "metrics": {}, "seconds": seconds}
        for logger in self._run_loggers:
            logger.end(result)


def _has_logged(trainer: pl.Trainer) -> bool:
    """Return whether the last training step was one of those whose metrics are logged."""
    every: int = trainer.log_every_n_steps  # type: ignore[attr-defined] # its connector's
    return bool(every) and trainer.global_step % every == 0


def folder_of_loggers(record: Record) -> Path:
    """Return the folder in which the loggers of a run write: the run's folder; in a sweep, a
    subfolder of the sweep's folder that is named after the title of the run.
    """
    if not is_swept(record.config):
        return record.folder
    title = run_title(record.config).replace("/", "-")
    return Path(hydra_node(record.config).sweep.dir, LOGGED, title)


def run_title(config: DictConfig, prefix: str | None = None) -> str:
    """Return the title of a run: the labels of the overrides that distinguish it, and its seed."""
    name = arm_label(levels(config, nuisance=True))
    words = [word for word in (prefix, name) if word] or [config.name]
    seed = f"seed {config.seed}" + (f" of set {config.replicate}" if config.replicate else "")
    return f"{cut(', '.join(words), LONGEST - len(seed) - 2)}, {seed}"


def hyperparameters(record: Record) -> dict[str, object]:
    """Return what loggers log as the hyperparameters of a run: the settings by which a person
    groups runs, each with a key of its own; the resolved config, with the key `config`; and the
    options, identities, versions and commit of the run, with the key `record`.
    """
    environment = json.loads((record.folder / "environment.json").read_text(encoding="utf-8"))
    given = levels(record.config)
    # W&B interprets dots as nesting
    factors = {factor.replace(".", "/"): level for factor, level in given.items()}
    tested = record.evaluation if record.config.probe is None else record
    return {
        **{factor: "null" if level is None else level for factor, level in factors.items()},
        "arm": say(given) + " (tuning)" * (not record.config.test_splits),
        "seed": record.config.seed,
        "config": OmegaConf.to_container(record.config, resolve=True),
        "record": {
            "choices": choices(hydra_node(record.config)),
            "identity": tested.identity,
            "training": record.identity,
            **{key: record.parts[key] for key in ("data", "device", "libraries")},
            **{key: environment[key] for key in ("python", "commit")},
        },
    }


def make_logger(make: partial[Logger], folder: str) -> Logger:
    """Return a new logger, which writes into a folder as its `save_dir`.

    A logger whose config names another folder, or whose constructor takes no `save_dir`, is made
    without this argument.
    """
    takes_folder = "save_dir" in inspect.signature(make.func).parameters
    return make(save_dir=folder) if takes_folder and "save_dir" not in make.keywords else make()


def check_loggers(job: Job) -> None:
    """Check the settings of each `RunLogger` before any work.

    A logger of another library is not constructed here, because its constructor may already write
    files or connect to a server.

    Raises:
        UserError: a setting cannot work.
    """
    for make in job.loggers.values():
        if isinstance(make.func, type) and issubclass(make.func, RunLogger):
            logger: Any = make_logger(make, job.config.paths.results)
            logger.check()


def introduce(job: Job, data: TextData) -> None:
    """Print, once per process, the size of the corpus, and a warning for each test split whose
    scores would be meaningless.
    """
    say_once(f"corpus: {data.about}")
    evaluation = job.task.evaluation(data.languages[1], for_tests=False)
    for split in job.config.test_splits if job.probe is None else ():
        if reason := evaluation.doubt(data.references(split)[:READ]):
            say_once(f"warning, {split}: {reason}")


@rank_zero_only
def announce(data: TextData, record: Record, step: int) -> None:
    """Print the data, the steps and the folder of a run that is about to train.

    `step` is the step from which a resumed run continues.
    """
    config, sizes = record.config, f"{data.tokenizers.src.size:,} / {data.tokenizers.tgt.size:,}"
    resumed = f", resumed after {step:,}" if step else ""
    print(f"{' to '.join(filter(None, data.languages))}, vocabulary {sizes}")
    print("\n".join(f"{split}: {data.describe(split)}" for split in data.counts))
    steps = f"{config.budget.steps:,} steps of {config.batch.tokens:,} target tokens"
    print(f"{steps}{resumed}, into {record.folder}", flush=True)
