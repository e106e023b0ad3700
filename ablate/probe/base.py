"""Define the interface of probes: measurements that need no training."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, get_type_hints

from ablate.errors import UserError
from ablate.model.base import Model
from ablate.model.transformer import Transformer


class Probe(ABC):
    """A measurement of an untrained model, which must be of the type `needs`.

    `measures` lists the names of all results, so that a claim about any other metric is rejected
    before a sweep starts. Subclasses are dataclasses; the annotations of their fields declare the
    limits of the settings.
    """

    needs: ClassVar[type[Model]] = Transformer
    measures: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        """Raise UserError if a setting is outside the limits that its annotation declares."""
        for name, annotation in get_type_hints(type(self), include_extras=True).items():
            for limit in getattr(annotation, "__metadata__", ()):
                if not limit.allows(value := getattr(self, name)):
                    raise UserError(f"probe.{name}={value}: it must {limit}")

    @abstractmethod
    def __call__(self, model: Any) -> dict[str, float]:
        """Return the measurements by name; they appear in the run's metrics with the prefix
        `probe/`.
        """
