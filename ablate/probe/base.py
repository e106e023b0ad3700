"""The seam of probes: measurements that need no training."""

from abc import ABC, abstractmethod
from typing import ClassVar

from ablate.model.transformer import Transformer


class Probe(ABC):
    """Measures an initialised model.

    `measures` names all that it can measure, so that a claim about anything else is refused before
    a sweep begins.
    """

    measures: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def __call__(self, model: Transformer) -> dict[str, float]:
        """Return the measurements by name; the run's metrics show them below `probe/`."""
