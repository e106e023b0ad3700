"""The interface of measures, which analyse the model that a run tests."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from ablate.data.module import TextData
from ablate.data.pairs import Corpus
from ablate.data.toy.corpus import Toy
from ablate.model.base import Model
from ablate.model.transformer import Transformer


class Measure(ABC):
    """Analyse a trained model, or the untrained one with `weights=initial`.

    An option of `measure`. It is used only in testing, so existing weights need not be trained
    again. `needs` is the required type of the model, `knows` that of the corpus; `measures` lists
    all results, so that a claim about any other metric is rejected before a sweep starts.
    """

    needs: ClassVar[type[Model]] = Transformer
    knows: ClassVar[type[Corpus]] = Toy
    measures: ClassVar[tuple[str, ...]] = ()

    def check(self, data: TextData) -> None:  # noqa: B027 -- most can measure any text
        """Raise UserError where the prepared text cannot be measured; called before training."""

    @abstractmethod
    def __call__(self, model: Any, data: TextData) -> dict[str, float]:
        """Return the measurements by name; they appear in the run's metrics with the prefix
        `measure/`.

        `model` is a copy that this call may change: in float64 on the CPU, without dropout.
        """
