"""The callbacks that the user adds to a run; they may be any of Lightning's."""

import functools
from collections.abc import Callable, Mapping
from importlib.util import find_spec

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

from ablate.config.named import named
from ablate.errors import UserError
from ablate.train.job import Job

# metrics logged in training
STEPS = ("train/nll", "train/objective", "train/gradient_norm", "train/lr")
STARTS = ("setup", "on_fit_start", "on_train_start")  # hooks before the first step
# callbacks of Lightning that cannot work here, and what to do instead
REFUSED: dict[type[Callback], str] = {
    BackboneFinetuning: "choose adapt=freeze",
    BatchSizeFinder: "set batch.tokens",
    LearningRateFinder: "sweep optimizer.lr",
    ProgressBar: "a run shows its own progress",
}


def construct_callbacks(config: DictConfig) -> Mapping[str, Callback]:
    """Return the callbacks of the node `callbacks`, by key.

    An error that a callback raises before the first step becomes a UserError with its key.

    Raises:
        UserError: an entry is not a callback, or refuses its settings.
    """
    callbacks = named(config, "callbacks", Callback)
    for key, callback in callbacks.items():
        for start in STARTS:
            hook = getattr(callback, start)
            setattr(callback, start, _with_refusals(f"callbacks.{key}", hook))
    return callbacks


def _with_refusals(key: str, hook: Callable[..., None]) -> Callable[..., None]:
    """Return a hook that turns any exception into a UserError with the key of its callback."""

    @functools.wraps(hook)
    def call(*arguments: object, **named_arguments: object) -> None:
        try:
            hook(*arguments, **named_arguments)
        except UserError:
            raise
        except Exception as error:  # whatever a callback of the user's raises
            reason = next(iter(str(error).splitlines()), "no reason given")
            raise UserError(
                f"{key} cannot start ({type(error).__name__}: {reason}): change its settings, or "
                "set callbacks=none"
            ) from error

    return call


def check_callbacks(job: Job) -> None:
    """Raise UserError for a callback that cannot work, or monitors a metric that is not logged."""
    validated = [f"val/{name}" for name, m in job.task.metrics.items() if m.split == "val"]
    for key, callback in job.callbacks.items():
        check_callback(job.config, key, callback)
        monitor = getattr(callback, "monitor", None)
        if monitor is not None and monitor not in (*validated, *STEPS):
            raise UserError(
                f"callbacks.{key}.monitor={monitor} is not measured in training; allowed is "
                f"{', '.join((*validated, *STEPS))}"
            )
        if monitor in STEPS:
            check_logged(job.config, key, monitor)


def check_logged(config: DictConfig, key: str, monitor: str) -> None:
    """Raise UserError if a callback monitors a step metric that is not logged before validation."""
    every, first = config.trainer.log_every_n_steps, config.budget.validate_every
    if not 0 < every <= first:
        raise UserError(
            f"callbacks.{key}.monitor={monitor} is logged every {every} steps, but the first "
            f"validation comes after {first}: set trainer.log_every_n_steps={first} or less"
        )


def check_callback(config: DictConfig, name: str, callback: Callback) -> None:
    """Raise UserError for a callback of Lightning that would refuse to start."""
    key, settings = f"callbacks.{name}", config.callbacks[name]
    for kind, instead in REFUSED.items():
        if isinstance(callback, kind):
            raise UserError(f"{key}: {type(callback).__name__} cannot work here; {instead}")
    if isinstance(callback, StochasticWeightAveraging):
        start = settings.get("swa_epoch_start", 0.8)  # Lightning's default
        if isinstance(start, float):
            raise UserError(
                f"{key}.swa_epoch_start={start}: a run counts steps and has no last epoch; give "
                "the number of an epoch, or use checkpoint.tested=average instead of this callback"
            )
    if isinstance(callback, DeviceStatsMonitor):
        asked = settings.get("cpu_stats", config.trainer.get("accelerator") == "cpu")
        if asked and find_spec("psutil") is None:
            raise UserError(f"{key}: DeviceStatsMonitor needs a package: pip install psutil")
