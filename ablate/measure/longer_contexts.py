"""Measure how well a language model predicts text in longer contexts than in training.

Equation: `factor` neighbouring contexts of the test text, each of length L, are joined to one
    longer context. `within` is the mean nll of tokens at positions below L. `beyond` is the mean
    nll of tokens at positions from L on, which do not occur in training. Both are in nats per
    token.
Source: arXiv:2108.12409, section 3, which tests models on longer contexts; arXiv:2305.19466, which
    does so for models without positions.
What differs: longer contexts do not overlap, so tokens at positions from L on have between L and
    factor * L tokens before them.
What to expect: if a model makes use of the longer context, `beyond` is lower than `within`. If its
    positions do not generalise to longer contexts, `beyond` is higher.
"""

from typing import Any

import torch
from torch import Tensor

from ablate.config.limits import Count
from ablate.data.module import TextData
from ablate.data.vocabulary import PAD
from ablate.errors import UserError
from ablate.measure.contexts import ContextMeasure
from ablate.model.base import Causal


class LongerContexts(ContextMeasure):
    """Measures the nll of a language model on test contexts that are longer than in training.

    Args:
        factor: number of training contexts that are joined to one longer context, at least 2.
        contexts: maximum number of longer contexts that are scored.

    Raises:
        UserError: `factor` is below 2.
    """

    measures = ("within", "beyond")

    def __init__(self, *, factor: Count, contexts: Count) -> None:
        if factor < 2:
            raise UserError(
                f"measure.factor is {factor}; it must be 2 or more, because it says how many times "
                "longer the test contexts are"
            )
        super().__init__(contexts=contexts)
        self.factor = factor

    def check(self, data: TextData) -> None:
        """Check that the task has contexts, and that the test text has enough of them.

        Raises:
            UserError: the task is not language modelling on contexts in which each token sees all
                earlier tokens, or the test text has fewer than `factor` full contexts.
        """
        super().check(data)
        batch = data.first_lines("test", self.factor)
        whole = int((batch.targets != PAD).all(1).sum())
        if whole < self.factor:
            raise UserError(
                f"measure=longer_contexts needs {self.factor} whole contexts of test, but there "
                f"are {whole}: give more text, or a shorter batch.context"
            )

    def __call__(self, model: Any, data: TextData) -> dict[str, float]:
        """Return the mean nll in nats per token, "within" and "beyond" the training length."""
        self.check(data)
        batch = data.first_lines("test", self.contexts * self.factor)
        full = (batch.targets != PAD).all(1)
        tokens, targets = (self._joined(x[full]) for x in (batch.inputs.tokens, batch.targets))
        length = batch.targets.size(1)
        nll = torch.cat([_nll(model, *row) for row in zip(tokens, targets, strict=True)])
        return {"within": float(nll[:, :length].mean()), "beyond": float(nll[:, length:].mean())}

    def _joined(self, rows: Tensor) -> Tensor:
        """Return rows of `factor` successive contexts each; the contexts left over are dropped."""
        whole = len(rows) // self.factor * self.factor
        return rows[:whole].reshape(-1, self.factor * rows.size(1))


def _nll(model: Any, tokens: Tensor, targets: Tensor) -> Tensor:
    with torch.no_grad():
        scores = model.head(model(Causal(tokens[None])))
    return -scores.log_softmax(-1).gather(-1, targets[None, :, None]).squeeze(-1)
