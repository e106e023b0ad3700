"""Turn a config into a job: set values that depend on others, construct all components, and check
that the components fit together.
"""

from collections.abc import Mapping
from dataclasses import replace

from hydra.utils import get_class
from omegaconf import DictConfig, OmegaConf, read_write
from pytorch_lightning.callbacks import Callback, StochasticWeightAveraging

from ablate.config.check import check, is_component
from ablate.config.construct import construct
from ablate.config.settle import settle
from ablate.errors import UserError
from ablate.record.files import check_name
from ablate.record.identity import read_source
from ablate.train.compatibility import check_compatibility
from ablate.train.job import Job
from ablate.train.tracking import Loggers
from ablate.train.trainer import check_trainer, hush_lightning, repair_averaging

# config nodes of the components that a job has under the same name
COMPONENTS = (
    *("task", "initial", "adapt", "loss", "optimizer", "schedule", "validation_search"),
    *("search", "trainer", "probe", "measure"),
)


def resolve(config: DictConfig) -> Job:
    """Return the job of a config.

    The precision and the warm-up that will be used are set in `config` itself.

    Raises:
        UserError: a setting, a component or a combination of components cannot work.
    """
    settle(config)
    read_source(config)
    check(config)
    for key, name in (("name", config.name), *(("test_splits", s) for s in config.test_splits)):
        check_name(key, name)
    shorter = shorten(config)
    hush_lightning()
    job = construct_job(config)
    check_compatibility(job)
    check_trainer(job)
    return replace(job, short=resolve(shorter)) if shorter else job


def construct_job(config: DictConfig) -> Job:
    """Construct each component of a config once, and return them as a job."""
    return Job(
        config=config,
        model=get_class(config.model["_target_"]),
        corpus=construct(config.data),
        scheme=construct(config.tokenizer),
        **{name: construct(config[name]) for name in COMPONENTS},
        metrics={str(name): construct(node) for name, node in config.metric.items()},
        callbacks=construct_callbacks(config),
        loggers=construct_loggers(config.logger),
    )


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


def construct_loggers(node: DictConfig | None) -> Loggers:
    """Return a function that makes a logger, for each logger in the config node `logger`, by key.

    The settings of W&B are directly in this node, and every other logger has a node below it. So
    `logger=[wandb,csv]` means both loggers. A node without `_partial_: true` is read in the same
    way, because a logger is made only when the folder of its run exists.
    """
    if node is None:
        return {}
    names = [str(name) for name in node]
    beside = [name for name in names if is_component(node, name)]
    alone = OmegaConf.masked_copy(node, [name for name in names if name not in beside])
    nodes = {"logger": alone} if "_target_" in alone else {}
    nodes |= {f"logger.{name}": node[name] for name in beside}
    return {key: construct(logger, _partial_=True) for key, logger in nodes.items()}


def shorten(config: DictConfig) -> DictConfig | None:
    """Return the config of the run with `budget.short` steps; None if that budget is not set, or if
    the run only applies a probe to an untrained model.

    Raises:
        UserError: `budget.short` is not smaller than `budget.steps`.
    """
    short, steps = config.budget.short, config.budget.steps
    if short is None or config.probe is not None:
        return None
    shorter = config.copy()
    with read_write(shorter):
        shorter.budget.steps, shorter.budget.short = short, None
    if short >= steps or shorter.trainer.max_steps != short:
        raise UserError(
            f"budget.short={short} with budget.steps={steps} and trainer.max_steps="
            f"{config.trainer.max_steps}: budget.short must be below budget.steps, and the trainer "
            "must take its steps from budget.steps"
        )
    return shorter
