"""Measure how much attention a language model pays to the first token of its context.

Equation: the mean of the attention weight of key 0, over all layers whose attention has weights
    that are shares, heads, full test contexts, and queries in the second half of the context.
Source: arXiv:2309.17453, section 3.1, which finds large weights on the first tokens of a text.
What differs: the source shows averages for single layers and heads of models with billions of
    parameters, and counts the first four tokens.
What to expect: attention that is spread evenly over a context of 64 tokens gives 0.02. If heads put
    the weight that they do not need on the first token, the value is higher.
"""

from typing import Any

import torch

from ablate.data.module import TextData
from ablate.data.vocabulary import PAD
from ablate.measure.contexts import ContextMeasure
from ablate.model.inspect import attention_weights


class FirstToken(ContextMeasure):
    """Measures the mean attention weight on the first token of a context.

    Args:
        contexts: maximum number of test contexts that are read.
    """

    measures = ("first_token",)

    def __call__(self, model: Any, data: TextData) -> dict[str, float]:
        """Return the mean weight on the first token; the dictionary is empty for a model without
        attention weights, and for a test text without a full context.
        """
        self.check(data)
        weights = []
        for inputs, targets in self.read(data):
            full, half = (targets != PAD).all(1), targets.size(1) // 2
            for layer in attention_weights(model, inputs, partial=True).values():
                weights.append(layer[full, :, half:, 0].flatten())
        measured = torch.cat(weights) if weights else torch.empty(0)
        return {"first_token": float(measured.mean())} if len(measured) else {}
