"""What watches and scores a run and is the user's to choose, checked before there is data."""

from omegaconf import DictConfig
from pytorch_lightning.callbacks import Callback

from ablate.config.construct import construct
from ablate.config.named import named
from ablate.data.module import TextData
from ablate.errors import UserError
from ablate.metric.base import SplitMetric
from ablate.task.base import Task

READ = 1000  # lines of a split, to see what they are like
STEPS = ("train/nll", "train/objective", "train/gradient_norm", "train/lr")  # logged in training


def callbacks(config: DictConfig) -> list[Callback]:
    """What `callbacks` names, any of Lightning's callbacks.

    Raises:
        UserError: something else is named, or its settings are refused.
    """
    return [*named(config, "callbacks", Callback).values()]


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
