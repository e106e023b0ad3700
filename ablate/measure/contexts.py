"""The interface of measures that analyse a language model on the contexts of the test text."""

from collections.abc import Iterator
from typing import Any

from jaxtyping import Int
from torch import Tensor

from ablate.config.limits import Count
from ablate.data.module import TextData
from ablate.data.packed import PackedData
from ablate.data.pairs import Corpus
from ablate.errors import UserError
from ablate.measure.base import Measure
from ablate.model.base import Causal, Model

AT_ONCE = 16  # number of contexts that a model reads together, so that memory is bounded


class ContextMeasure(Measure):
    """Analyses a language model that reads contexts in which each token sees all earlier tokens.

    Args:
        contexts: maximum number of test contexts that are read.
    """

    needs = Model
    knows = Corpus

    def __init__(self, *, contexts: Count) -> None:
        self.contexts = contexts

    def check(self, data: TextData) -> None:
        """Raise UserError unless the task is language modelling on contexts, in which each token
        sees all earlier tokens.
        """
        reads = data.first_lines("test", 1).inputs
        if not (isinstance(data, PackedData) and isinstance(reads, Causal)):
            raise UserError(
                f"measure={self.option} reads contexts in which a token sees all before it: it "
                "needs task=language_model, batch.context and task.attention=context"
            )

    def read(self, data: TextData) -> Iterator[tuple[Causal, Int[Tensor, "B L"]]]:
        """Yield the inputs and the targets of a few contexts at a time."""
        batch = data.first_lines("test", self.contexts)
        both: tuple[Any, Any] = (batch.inputs.tokens, batch.targets)
        parts = zip(*(rows.split(AT_ONCE) for rows in both), strict=True)
        return ((Causal(part), targets) for part, targets in parts)

    @property
    def option(self) -> str:
        """The name of the measure in the config, which messages use."""
        return type(self).__module__.rpartition(".")[2]
