"""Write every metric that Lightning logs to the file metrics.jsonl in the run's folder."""

from argparse import Namespace
from collections.abc import Callable, Mapping
from typing import Any

from pytorch_lightning.loggers.logger import Logger
from pytorch_lightning.utilities import rank_zero_only

from ablate.record.training import Record
from ablate.train.progress import SPEED

# the lines of a repeated run are equal except for their times, so these metrics are left out
LEFT_OUT = ("epoch", SPEED)


class RecordLogger(Logger):
    """A logger that appends metrics to the file metrics.jsonl in the run's folder.

    Every run has this logger, whatever the config sets for `logger`.
    """

    def __init__(self, record: Record) -> None:
        super().__init__()
        self.record = record
        # Lightning counts steps from 0 during training and from 1 afterwards. `Tracking.count_by`
        # sets a function that returns the true number.
        self.steps_done: Callable[[], int] = lambda: 0

    @property
    def name(self) -> str:
        """The logger's name."""
        return "record"

    @property
    def version(self) -> str:
        """The run's identity, a digest of its config."""
        return self.record.identity

    @rank_zero_only
    def log_metrics(self, metrics: Mapping[str, float], step: int | None = None) -> None:
        """Append the metrics to the file as a JSON line."""
        values = {k: float(v) for k, v in metrics.items() if k not in LEFT_OUT}
        self.record.log(values, self.steps_done())

    def log_hyperparams(
        self, params: dict[str, object] | Namespace, *args: Any, **kwargs: Any
    ) -> None:
        """Do nothing: the run's folder already contains the config."""
