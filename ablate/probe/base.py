"""The seam of probes: measurements that need no training."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from ablate.model.base import Model
from ablate.model.transformer import Transformer


class Probe(ABC):
    """Measures an initialised model, which must be of the type `needs`.

    `measures` names all that it can measure, so that a claim about anything else is refused before
    a sweep begins.
    """

    needs: ClassVar[type[Model]] = Transformer
    measures: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def __call__(self, model: Any) -> dict[str, float]:
        """Return the measurements by name; the run's metrics show them below `probe/`."""
