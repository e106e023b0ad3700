"""The interface of loggers that log more than metrics, such as sample texts and pictures."""

from abc import ABC, abstractmethod

from ablate.record.training import Record
from ablate.record.types import CombinedResult, Failure
from ablate.train.module import Training


class RunLogger(ABC):
    """A logger that follows a run from its start to its end.

    The attribute `advice` is appended to the warning that is printed if the logger fails.
    """

    advice = ""

    @abstractmethod
    def check(self) -> None:
        """Raise UserError for settings that cannot work; this is called before any work."""

    @abstractmethod
    def advise_reused(self, record: Record, result: CombinedResult) -> str:
        """Return advice, as text, on how to log a run whose stored result was used again; "" if
        the run was logged already.
        """

    @abstractmethod
    def begin(self, record: Record) -> None:
        """Start to log a run; the folder of the run exists."""

    @abstractmethod
    def validated(self, task: Training) -> None:
        """Log samples of the model's output after a validation."""

    @abstractmethod
    def show(self, task: Training) -> None:
        """Log pictures of the model, such as attention maps; the model has the weights that will be
        tested.
        """

    @abstractmethod
    def end(self, result: CombinedResult | Failure) -> None:
        """Log the final result of the run (the content of result.json), or its failure."""

    @abstractmethod
    def abandon(self) -> None:
        """Release the resources of the logger after a failure; no other method is called
        afterwards.
        """
