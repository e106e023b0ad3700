"""The seam of probes: measurements that need no training."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, get_type_hints

from ablate.errors import UserError
from ablate.model.base import Model
from ablate.model.transformer import Transformer


class Probe(ABC):
    """Measures an initialised model, which must be of the type `needs`.

    `measures` names all that it can measure, so that a claim about anything else is refused before
    a sweep begins. A dataclass, whose settings have their limits in their annotations.
    """

    needs: ClassVar[type[Model]] = Transformer
    measures: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        """Raise UserError for a setting beyond the limits that its annotation names."""
        for name, annotation in get_type_hints(type(self), include_extras=True).items():
            for limit in getattr(annotation, "__metadata__", ()):
                if not limit.allows(value := getattr(self, name)):
                    raise UserError(f"probe.{name}={value}: it must {limit}")

    @abstractmethod
    def __call__(self, model: Any) -> dict[str, float]:
        """Return the measurements by name; the run's metrics show them below `probe/`."""
