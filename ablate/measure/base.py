"""The interface of measures.

A measure computes numbers from the model that a run tests, in addition to the usual test scores.
"""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from ablate.data.module import TextData
from ablate.data.pairs import Corpus
from ablate.data.toy.corpus import Toy
from ablate.model.base import Model
from ablate.model.inspect import check_weights
from ablate.model.transformer import Transformer


class Measure(ABC):
    """Analyses the model that a run tests; an option of `measure`.

    The model is trained, or untrained with `weights=initial`. A measure is computed only in
    testing, so it can be added without training again. `needs` is the required class of the model,
    and `knows` the required class of the corpus. `measures` lists the names of all results, so that
    a claim about an unknown metric is rejected before a sweep starts.
    """

    needs: ClassVar[type[Model]] = Transformer
    knows: ClassVar[type[Corpus]] = Toy
    measures: ClassVar[tuple[str, ...]] = ()
    reads_weights: ClassVar[bool] = False  # whether it reads the attention weights of the model

    def check(self, data: TextData) -> None:  # noqa: B027 -- most measures work with any text
        """Raise UserError if this measure does not work with the prepared text.

        This method is called before training.
        """

    def check_model(self, model: Any) -> None:
        """Raise UserError if this measure does not work with the components of a model.

        This method is called before training, with a built model whose weights may be on the meta
        device.
        """
        if self.reads_weights:
            check_weights(model)

    @abstractmethod
    def __call__(self, model: Any, data: TextData) -> dict[str, float]:
        """Return the measured values by name.

        In the metrics of a run, the names have the prefix `measure/`. `model` is a copy that this
        call may change: in float64, on the CPU, and without dropout.
        """
