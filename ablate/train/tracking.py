"""The loggers of a run: its own record always, and those that the config names."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from types import TracebackType

from omegaconf import DictConfig, OmegaConf
from pytorch_lightning.callbacks import Callback
from pytorch_lightning.loggers.logger import Logger

from ablate.config.check import is_component
from ablate.config.construct import construct
from ablate.record.training import Record
from ablate.record.types import Failure, Whole
from ablate.train.module import Training
from ablate.train.record_logger import RecordLogger


class RunLogger(ABC):
    """A logger that follows a run from its begin to its end, beyond the metrics."""

    @abstractmethod
    def begin(self, record: Record) -> None:
        """Called once the record's folder is there."""

    @abstractmethod
    def callbacks(self) -> list[Callback]:
        """What the trainer needs for it."""

    @abstractmethod
    def show(self, task: Training) -> None:
        """Called with the weights that have been tested."""

    @abstractmethod
    def end(self, found: Whole | Failure) -> None:
        """Called with what result.json says, also when the run failed."""


class Tracking:
    """Begins with the run and ends with it, also when it fails.

    `logger` may be any of Lightning's loggers, or several; a `RunLogger` hears of more.
    """

    def __init__(self, config: DictConfig, record: Record) -> None:
        self.record = record
        self.own = RecordLogger(record)
        self.loggers: list[Logger] = [self.own]
        self.loggers += [make(save_dir=str(record.folder)) for make in makers(config.logger)]
        self._run_loggers = [logger for logger in self.loggers if isinstance(logger, RunLogger)]

    def callbacks(self) -> list[Callback]:
        """What the trainer needs for the loggers."""
        return [callback for logger in self._run_loggers for callback in logger.callbacks()]

    def show(self, task: Training) -> None:
        """Show what is inside the tested model."""
        for logger in self._run_loggers:
            logger.show(task)

    def __enter__(self) -> "Tracking":
        for logger in self._run_loggers:
            logger.begin(self.record)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        found = None if error else self.record.found()
        for logger in self._run_loggers:
            logger.end(found or failure(error, self.record))


def makers(node: DictConfig | None) -> list[Callable[..., Logger]]:
    """What makes the loggers of the node `logger`: W&B's keys stand there, others have a node each.

    So `logger=[wandb,csv]` is both of them.
    """
    if node is None:
        return []
    names = [str(name) for name in node]
    beside = [name for name in names if is_component(node, name)]
    alone = OmegaConf.masked_copy(node, [name for name in names if name not in beside])
    own = [alone] if "_target_" in alone else []
    return [construct(one) for one in (*own, *(node[name] for name in beside))]


def failure(error: BaseException | None, record: Record) -> Failure:
    """What result.json will say of a run that an error ended."""
    text = f"{type(error).__name__}: {error}" if error else "no result was written"
    return {"status": "failed", "error": text, "metrics": {}, "seconds": record.seconds}
