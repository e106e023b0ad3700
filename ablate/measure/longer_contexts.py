"""How a language model predicts text in contexts that are longer than those of its training.

Equation: neighbouring contexts of the test text are joined to contexts of `factor` times their
    length L. within: the mean nll of tokens at places below L; beyond: of tokens at the places from
    L on, where no place was in training; both in nats per token.
Source: arXiv:2108.12409, section 3, for the test on longer contexts; arXiv:2305.19466 for models
    without positions.
What differs: joined contexts do not overlap, so tokens behind L have between L and factor * L
    tokens before them.
What to expect: where a model uses the longer context, beyond is below within; where its positions
    do not carry over, beyond is above it.
"""

from typing import Any

import torch
from torch import Tensor

from ablate.config.limits import Count
from ablate.data.module import TextData
from ablate.data.packed import PackedData
from ablate.data.pairs import Corpus
from ablate.data.vocabulary import PAD
from ablate.errors import UserError
from ablate.measure.base import Measure
from ablate.model.base import Causal, Model


class LongerContexts(Measure):
    """Scores the test text of a language model in contexts of several times their length.

    Args:
        factor: trained contexts in a longer one, at least 2.
        contexts: longer contexts that are scored, at most.
    """

    needs = Model
    knows = Corpus
    measures = ("within", "beyond")

    def __init__(self, *, factor: Count, contexts: Count) -> None:
        if factor < 2:
            raise UserError(f"measure.factor is {factor}; a longer context takes 2 or more")
        self.factor, self.contexts = factor, contexts

    def check(self, data: TextData) -> None:
        """Check that the test text is read in contexts, and has enough of them.

        Raises:
            UserError: the corpus is not read in contexts, each token seeing all before it, or the
                test text is shorter than a longer context.
        """
        batch = data.first_lines("test", self.factor)
        if not (isinstance(data, PackedData) and isinstance(batch.inputs, Causal)):
            raise UserError(
                "measure=longer_contexts reads contexts in which a token sees all before it: it "
                "needs task=language_model, batch.context and task.attention=context"
            )
        whole = int((batch.targets != PAD).all(1).sum())
        if whole < self.factor:
            raise UserError(
                f"measure=longer_contexts needs {self.factor} whole contexts of test, but there "
                f"are {whole}: give more text, or a shorter batch.context"
            )

    def __call__(self, model: Any, data: TextData) -> dict[str, float]:
        """Return the mean nll within and beyond the length of training, in nats per token."""
        self.check(data)
        batch = data.first_lines("test", self.contexts * self.factor)
        full = (batch.targets != PAD).all(1)
        tokens, targets = (self._joined(x[full]) for x in (batch.inputs.tokens, batch.targets))
        length = batch.targets.size(1)
        nll = torch.cat([_nll(model, *row) for row in zip(tokens, targets, strict=True)])
        return {"within": float(nll[:, :length].mean()), "beyond": float(nll[:, length:].mean())}

    def _joined(self, rows: Tensor) -> Tensor:
        """Return rows that follow each other as longer ones; those left over are dropped."""
        whole = len(rows) // self.factor * self.factor
        return rows[:whole].reshape(-1, self.factor * rows.size(1))


def _nll(model: Any, tokens: Tensor, targets: Tensor) -> Tensor:
    with torch.no_grad():
        scores = model.head(model(Causal(tokens[None])))
    return -scores.log_softmax(-1).gather(-1, targets[None, :, None]).squeeze(-1)
