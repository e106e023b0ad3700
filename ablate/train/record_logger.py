"""Lightning's view of the run record: every logged value goes to metrics.jsonl."""

from argparse import Namespace
from collections.abc import Callable, Mapping
from typing import Any

from pytorch_lightning.loggers.logger import Logger
from pytorch_lightning.utilities import rank_zero_only

from ablate.record.training import Record
from ablate.train.progress import SPEED

# every line has its time, and the rest is the same whenever a run is repeated
LEFT_OUT = ("epoch", SPEED)


class RecordLogger(Logger):
    """A logger that appends to the record; always on, whatever `logger` says."""

    def __init__(self, record: Record) -> None:
        super().__init__()
        self.record = record
        # Lightning counts from 0 while it fits and from 1 afterwards; this is told what is true
        self.steps_done: Callable[[], int] = lambda: 0

    @property
    def name(self) -> str:
        """The logger's name."""
        return "record"

    @property
    def version(self) -> str:
        """The run's identity."""
        return self.record.identity

    @rank_zero_only
    def log_metrics(self, metrics: Mapping[str, float], step: int | None = None) -> None:
        """Append one line."""
        values = {k: float(v) for k, v in metrics.items() if k not in LEFT_OUT}
        self.record.log(values, self.steps_done())

    def log_hyperparams(
        self, params: dict[str, object] | Namespace, *args: Any, **kwargs: Any
    ) -> None:
        """Nothing: the record holds the config already."""
