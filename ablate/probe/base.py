"""The seam of probes: measurements that need no training."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from ablate.model.base import Model
from ablate.model.transformer import Transformer


class Probe(ABC):
    """Measures an initialised model, which must be of the type `measures`."""

    measures: ClassVar[type[Model]] = Transformer

    @abstractmethod
    def __call__(self, model: Any) -> dict[str, float]:
        """Return the measurements by name; the run's metrics show them below `probe/`."""
