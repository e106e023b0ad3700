"""The interface of loggers that record more of a run than its metrics."""

from abc import ABC, abstractmethod
from collections.abc import Callable

from ablate.record.training import Record
from ablate.record.types import CombinedResult, Failure
from ablate.train.module import Training


class RunLogger(ABC):
    """A logger that follows a run from its start to its end.

    `advice` is appended to the warning about a failure of the logger.
    """

    advice = ""

    @abstractmethod
    def check(self) -> None:
        """Raise UserError for settings that cannot work; called before any work."""

    @abstractmethod
    def advise_reused(self, record: Record, result: CombinedResult) -> str:
        """Return how to log a run whose result was reused; "" if it was logged already."""

    @abstractmethod
    def begin(self, record: Record) -> None:
        """Start to log a run, whose folder exists."""

    @abstractmethod
    def count_by(self, steps_done: Callable[[], int]) -> None:
        """Set the function that returns the number of optimiser steps for logged values.

        Lightning's own number counts from 0 while it fits and from 1 afterwards.
        """

    @abstractmethod
    def validated(self, task: Training) -> None:
        """Log samples of the model's output after a validation."""

    @abstractmethod
    def show(self, task: Training) -> None:
        """Log pictures of the model, with the weights that will be tested."""

    @abstractmethod
    def end(self, result: CombinedResult | Failure) -> None:
        """Log the content of result.json, also of a run that failed."""

    @abstractmethod
    def abandon(self) -> None:
        """Release the resources of the logger after a failure; nothing else will be called."""
