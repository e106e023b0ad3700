"""Measure how much attention a language model pays to the first token of its context.

Equation: the mean of the attention weight of key 0, over all layers, heads, test contexts, and
    queries in the second half of the context.
Source: arXiv:2309.17453, section 3.1, which finds large weights on the first tokens of a text.
What differs: the source shows averages for single layers and heads of models with billions of
    parameters, and counts the first four tokens.
What to expect: attention that is spread evenly over a context of 64 tokens gives 0.02. If heads put
    the weight that they do not need on the first token, the value is higher.
"""

from typing import Any

from ablate.config.limits import Count
from ablate.data.module import TextData
from ablate.measure.contexts import ContextMeasure
from ablate.model.inspect import attention_weights


class FirstToken(ContextMeasure):
    """Measures the mean attention weight on the first token of a context.

    Args:
        contexts: maximum number of test contexts that are read.
    """

    measures = ("first_token",)

    def __init__(self, *, contexts: Count) -> None:
        self.contexts = contexts

    def __call__(self, model: Any, data: TextData) -> dict[str, float]:
        """Return the mean weight on the first token; the dictionary is empty for a model without
        attention.
        """
        self.check(data)
        inputs = data.first_lines("test", self.contexts).inputs
        layers = attention_weights(model, inputs, partial=True).values()
        means = [float(weights[:, :, weights.size(2) // 2 :, 0].mean()) for weights in layers]
        return {"first_token": sum(means) / len(means)} if means else {}
