"""The seam of learning-rate schedules."""

from abc import ABC, abstractmethod


class Schedule(ABC):
    """From the number of an optimiser step (1, 2, ...) to a share of the peak rate."""

    @abstractmethod
    def __call__(self, step: int) -> float:
        """Return the factor of step `step`, between 0 and 1."""
