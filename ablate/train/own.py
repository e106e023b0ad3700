"""What watches and scores a run and is the user's to choose, checked before there is data."""

import functools
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

from omegaconf import DictConfig
from pytorch_lightning.callbacks import (
    BackboneFinetuning,
    BatchSizeFinder,
    Callback,
    DeviceStatsMonitor,
    LearningRateFinder,
    ProgressBar,
    StochasticWeightAveraging,
)

from ablate.config.construct import construct
from ablate.config.named import named
from ablate.data.module import TextData
from ablate.errors import UserError
from ablate.metric.base import SplitMetric
from ablate.task.base import Task

READ = 1000  # lines of a split, to see what they are like
STEPS = ("train/nll", "train/objective", "train/gradient_norm", "train/lr")  # logged in training

STARTS = ("setup", "on_fit_start", "on_train_start")  # hooks before the first step
# callbacks of Lightning that cannot work here, and what to do instead
REFUSED: dict[type[Callback], str] = {
    BackboneFinetuning: "choose adapt=freeze",
    BatchSizeFinder: "set batch.tokens",
    LearningRateFinder: "sweep optimizer.lr",
    ProgressBar: "a run shows its own progress",
}


def callbacks(config: DictConfig) -> list[Callback]:
    """What `callbacks` names, any of Lightning's callbacks.

    Raises:
        UserError: something else is named, or its settings are refused.
    """
    built = named(config, "callbacks", Callback)
    for key, callback in built.items():
        for start in STARTS:
            hook = getattr(callback, start)
            setattr(callback, start, _with_refusals(f"callbacks.{key}", hook))
    return [*built.values()]


def _with_refusals(key: str, hook: Callable[..., None]) -> Callable[..., None]:
    """Return a hook whose errors are sentences that name its callback."""

    @functools.wraps(hook)
    def call(*arguments: Any, **named_arguments: Any) -> None:
        try:
            hook(*arguments, **named_arguments)
        except UserError:
            raise
        except Exception as error:  # whatever a callback of the user's raises
            reason = next(iter(str(error).splitlines()), "no reason given")
            raise UserError(
                f"{key} cannot start ({type(error).__name__}: {reason}): change its settings, or "
                "say callbacks=none"
            ) from error

    return call


def metrics(config: DictConfig) -> dict[str, SplitMetric]:
    """What `metric` names, by the names that the metrics have.

    Raises:
        UserError: something else is named, or its settings are refused.
    """
    return named(config, "metric", SplitMetric)  # type: ignore[type-abstract]


def doubts(config: DictConfig, data: TextData) -> list[str]:
    """Say of which tested splits the scores would mean nothing, by their first lines."""
    task: Task = construct(config.task)
    evaluation = task.evaluation(data.languages[1], thorough=False)
    found = {s: evaluation.doubt(data.references(s)[:READ]) for s in config.test_splits}
    return [f"warning, {split}: {said}" for split, said in found.items() if said]


def check_own(config: DictConfig) -> None:
    """Build them and throw them away, and what scores the target language.

    Raises:
        UserError: what is wrong with one, or it does not fit the task.
    """
    task: Task = construct(config.task)
    task.evaluation(construct(config.data).languages[1], thorough=True)
    for name in metrics(config):
        if not task.generates:
            raise UserError(
                f"metric.{name} scores translations, and task {type(task).__name__} makes none: "
                "choose another task, or metric=none"
            )
        if name in task.metrics:
            raise UserError(f"metric.{name}: the task has a metric of this name; choose another")
    validated = [f"val/{name}" for name, one in task.metrics.items() if one.split == "val"]
    for key, callback in named(config, "callbacks", Callback).items():
        check_callback(config, f"callbacks.{key}", callback)
        monitor = getattr(callback, "monitor", None)
        if monitor is not None and monitor not in (*validated, *STEPS):
            raise UserError(
                f"callbacks.{key}.monitor={monitor} is not measured in training; allowed is "
                f"{', '.join((*validated, *STEPS))}"
            )
        if monitor in STEPS:
            check_logged(config, key, monitor)


def check_logged(config: DictConfig, key: str, monitor: str) -> None:
    """Raise UserError where a callback asks for a metric of steps before one is logged."""
    every, first = config.trainer.log_every_n_steps, config.budget.validate_every
    if not 0 < every <= first:
        raise UserError(
            f"callbacks.{key}.monitor={monitor} is logged every {every} steps, but the first "
            f"validation comes after {first}: say trainer.log_every_n_steps={first} or less"
        )


def check_callback(config: DictConfig, key: str, callback: Callback) -> None:
    """Raise UserError for a callback of Lightning that would refuse to start."""
    for kind, instead in REFUSED.items():
        if isinstance(callback, kind):
            raise UserError(f"{key}: {type(callback).__name__} cannot work here; {instead}")
    settings = config.callbacks[key.partition(".")[2]]
    if isinstance(callback, StochasticWeightAveraging):
        start = settings.get("swa_epoch_start", 0.8)  # Lightning's default
        if isinstance(start, float):
            raise UserError(
                f"{key}.swa_epoch_start={start}: a run counts steps and has no last epoch; say the "
                "number of an epoch, or checkpoint.tested=average instead of this callback"
            )
    if isinstance(callback, DeviceStatsMonitor):
        asked = settings.get("cpu_stats", config.trainer.get("accelerator") == "cpu")
        if asked and find_spec("psutil") is None:
            raise UserError(f"{key}: DeviceStatsMonitor needs a package: pip install psutil")
