"""Train all weights.

Equation: every w follows its gradient.
Source: arXiv:1706.03762, section 5 (training from scratch).
What differs: nothing.
What to expect: this is the reference option of the factor.
"""

from ablate.adapt.base import Adapt
from ablate.model.base import Model


class All(Adapt):
    """An option that leaves the model unchanged, so that all weights are trained."""

    def __call__(self, model: Model, seed: int) -> None:
        """Leave the model unchanged."""
