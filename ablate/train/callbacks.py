"""Construct and check the Lightning callbacks that the user adds to a run in the node
`callbacks`.
"""

from collections.abc import Mapping

import pytorch_lightning as pl
from omegaconf import DictConfig
from pytorch_lightning.callbacks import (
    BackboneFinetuning,
    BatchSizeFinder,
    Callback,
    EarlyStopping,
    LearningRateFinder,
    ProgressBar,
    StochasticWeightAveraging,
)

from ablate.config.construct import construct
from ablate.errors import UserError
from ablate.train.job import Job

# metrics logged in training
STEPS = ("train/nll", "train/objective", "train/gradient_norm", "train/lr")
# callbacks of Lightning that cannot work here, and what to do instead
REFUSED: dict[type[Callback], str] = {
    BackboneFinetuning: "choose adapt=freeze",
    BatchSizeFinder: "set batch.tokens",
    LearningRateFinder: "sweep optimizer.lr",
    ProgressBar: "a run shows its own progress",
}


def construct_callbacks(config: DictConfig) -> Mapping[str, Callback]:
    """Return the callbacks of the config node `callbacks`, by their keys in this node.

    Raises:
        UserError: a callback rejects its arguments.
    """
    callbacks = {str(key): construct(node) for key, node in config.callbacks.items()}
    for callback in callbacks.values():
        if isinstance(callback, StochasticWeightAveraging):
            repair_averaging(callback)
    return callbacks


def repair_averaging(callback: StochasticWeightAveraging) -> None:
    """Repair two faults of Lightning in a callback that averages the weights of epochs.

    In a run that is resumed within an epoch, Lightning continues the average at the next epoch
    only, with the learning rate of the schedule until then. In a run that ends before its first
    average, it replaces the trained weights by the initial weights.
    """
    end = callback.on_train_end

    def on_train_start(trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        if callback._scheduler_state is not None:  # from a saved state
            callback.on_train_epoch_start(trainer, pl_module)

    def on_train_end(trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        if callback.n_averaged or callback._init_n_averaged:
            end(trainer, pl_module)

    callback.on_train_start = on_train_start  # type: ignore[method-assign]
    callback.on_train_end = on_train_end  # type: ignore[method-assign]


def check_callbacks(job: Job) -> None:
    """Raise UserError for a callback that cannot work here, or that monitors a metric which
    neither training nor a callback of the user logs.
    """
    validated = [f"val/{name}" for name, m in job.task.metrics.items() if m.split == "val"]
    modules = [type(callback).__module__ for callback in job.callbacks.values()]
    all_of_lightning = all(module.startswith("pytorch_lightning.") for module in modules)
    for key, callback in job.callbacks.items():
        check_callback(job.config, key, callback)
        monitor = getattr(callback, "monitor", None)
        if monitor not in (None, *validated, *STEPS) and all_of_lightning:
            raise UserError(
                f"callbacks.{key}.monitor={monitor} is not measured in training; allowed is "
                f"{', '.join((*validated, *STEPS))}"
            )
        if monitor in STEPS:
            check_logged(job.config, key, monitor)


def check_logged(config: DictConfig, key: str, monitor: str) -> None:
    """Raise UserError if a callback monitors a metric of training steps that is first logged after
    the first validation.

    Args:
        config: the config of the run.
        key: key of the callback below `callbacks`.
        monitor: name of the metric, such as train/nll.
    """
    every, accumulated = config.trainer.log_every_n_steps, config.trainer.accumulate_grad_batches
    interval = config.trainer.get("val_check_interval")
    # a fraction of an epoch or a duration has an unknown number of batches
    first = interval if isinstance(interval, int) else config.budget.validate_every
    if not 0 < every * accumulated <= first:
        raise UserError(
            f"callbacks.{key}.monitor={monitor} is logged every {every} steps of {accumulated} "
            f"batches, but the first validation comes after {first} batches: set a smaller "
            "trainer.log_every_n_steps, or a larger budget.validate_every"
        )


def check_callback(config: DictConfig, name: str, callback: Callback) -> None:
    """Raise UserError if one of Lightning's own callbacks cannot work in a run; `name` is its
    key.
    """
    key, settings = f"callbacks.{name}", config.callbacks[name]
    for kind, instead in REFUSED.items():
        if isinstance(callback, kind):
            raise UserError(f"{key}: {type(callback).__name__} cannot work here; {instead}")
    if config.patience is not None and callback.state_key == EarlyStopping("val/nll").state_key:
        raise UserError(
            f"patience={config.patience} is the same as {key}, and Lightning does not accept two "
            "of them: set patience=null, or callbacks=none"
        )
    if isinstance(callback, StochasticWeightAveraging):
        start = settings.get("swa_epoch_start", 0.8)  # Lightning's default
        if isinstance(start, float):
            raise UserError(
                f"{key}.swa_epoch_start={start}: a run counts steps and has no last epoch; give "
                "the number of an epoch, or use checkpoint.tested=average instead of this callback"
            )
