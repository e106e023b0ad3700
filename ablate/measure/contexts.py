"""The interface of measures that analyse a language model on the contexts of the test text."""

from ablate.data.module import TextData
from ablate.data.packed import PackedData
from ablate.data.pairs import Corpus
from ablate.errors import UserError
from ablate.measure.base import Measure
from ablate.model.base import Causal, Model


class ContextMeasure(Measure):
    """Analyses a language model that reads contexts in which each token sees all earlier tokens."""

    needs = Model
    knows = Corpus

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

    @property
    def option(self) -> str:
        """The name of the measure in the config, which messages use."""
        return type(self).__module__.rpartition(".")[2]
