"""The seam of probes: measurements that need no training."""

from abc import ABC, abstractmethod

from ablate.model.transformer import Transformer


class Probe(ABC):
    """Measures an initialised model."""

    @abstractmethod
    def __call__(self, model: Transformer) -> dict[str, float]:
        """Return the measurements by name; the run's metrics show them below `probe/`."""
