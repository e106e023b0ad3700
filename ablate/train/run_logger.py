"""The interface of a logger that follows a run beyond its metrics."""

from abc import ABC, abstractmethod
from collections.abc import Callable

from ablate.record.training import Record
from ablate.record.types import CombinedResult, Failure
from ablate.train.module import Training


class RunLogger(ABC):
    """A logger that follows a run from its begin to its end.

    `advice` ends the warning about a failure of the logger.
    """

    advice = ""

    @abstractmethod
    def check(self) -> None:
        """Raise UserError for settings that cannot work; called before any work."""

    @abstractmethod
    def advise_reused(self, record: Record, found: CombinedResult) -> str:
        """Return how to log a run that was done before; empty where it was logged then."""

    @abstractmethod
    def begin(self, record: Record) -> None:
        """Start to log a run, whose folder exists."""

    @abstractmethod
    def count_by(self, steps_done: Callable[[], int]) -> None:
        """Log by this number of optimiser steps.

        Lightning's own number counts from 0 while it fits and from 1 afterwards.
        """

    @abstractmethod
    def validated(self, task: Training) -> None:
        """Show samples of what the model does, after a validation."""

    @abstractmethod
    def show(self, task: Training) -> None:
        """Show the inside of the model, with the weights that will be tested."""

    @abstractmethod
    def end(self, found: CombinedResult | Failure) -> None:
        """Log what result.json says, also of a run that failed."""

    @abstractmethod
    def abandon(self) -> None:
        """Free what the logger holds after it has failed; nothing else will be called."""
