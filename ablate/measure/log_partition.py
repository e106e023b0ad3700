"""Measure how far the logits of a language model have drifted from normalised log-probabilities.

Equation: the mean of |log Z| over the predicted tokens, where Z = sum_v exp x_v for logits x.
Source: arXiv:2309.14322, section 3.1.2, where log Z falls far below 0 in training at high learning
    rates, unless z-loss is used.
What differs: the source plots the mean of log Z during training; here it is measured in the test.
    The absolute value is taken, because log Z may drift in both directions.
What to expect: an untrained model with logits near 0 has log V for V tokens. A loss without a
    penalty does not depend on log Z, so nothing keeps log Z near 0.
"""

from typing import Any

import torch

from ablate.data.module import TextData
from ablate.data.vocabulary import PAD
from ablate.measure.contexts import ContextMeasure


class LogPartition(ContextMeasure):
    """Measures the mean size of the logarithm of the softmax's denominator.

    Args:
        contexts: maximum number of test contexts that are read.
    """

    measures = ("log_partition",)

    def __call__(self, model: Any, data: TextData) -> dict[str, float]:
        """Return the mean of |log Z| in nats over the predicted tokens."""
        self.check(data)
        with torch.no_grad():
            sizes = [
                model.head(model(inputs)).logsumexp(-1).abs()[targets != PAD]
                for inputs, targets in self.read(data)
            ]
        return {"log_partition": float(torch.cat(sizes).mean())}
