"""The seam of measures: looks into the model that a run tests."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from ablate.data.module import TextData
from ablate.data.pairs import Corpus
from ablate.data.toy.corpus import Toy
from ablate.model.base import Model
from ablate.model.transformer import Transformer


class Measure(ABC):
    """Looks into a trained model, or with `weights=initial` into the same one untrained.

    A level of `measure`. It acts in testing alone, so weights that are there are not trained again.
    `needs` is the type of the model and `knows` that of the corpus that it can work with;
    `measures` names all that it gives, so that a claim about anything else is refused before a
    sweep begins.
    """

    needs: ClassVar[type[Model]] = Transformer
    knows: ClassVar[type[Corpus]] = Toy
    measures: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def __call__(self, model: Any, data: TextData) -> dict[str, float]:
        """Return the measurements by name; the run's metrics show them below `measure/`.

        `model` is a copy that this call may change: in float64 on the CPU, without dropout.
        """
