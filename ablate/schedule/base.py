"""Define the interface of learning-rate schedules."""

from abc import ABC, abstractmethod


class Schedule(ABC):
    """Maps the number of an optimiser step (1, 2, ...) to a fraction of the peak learning rate."""

    @abstractmethod
    def __call__(self, step: int) -> float:
        """Return the learning rate at `step` as a fraction of the peak learning rate, 0 to 1."""
