"""Dynamic tanh: a scaled tanh in place of a norm.

Equation: gain * tanh(alpha x) + bias; alpha is a learned number.
Source: arXiv:2503.10622, section 4.
What differs: alpha starts at `initial` in every norm of the model; for large language models, the
    paper tunes the initial value separately for attention and for other sub-layers.
What to expect: the quality of layer_norm if alpha is tuned. There is no mean or variance over the
    channels: every channel is transformed separately.
"""

from typing import Annotated

import torch
from torch import Tensor, nn

from ablate.config.limits import Range
from ablate.model.norm.base import Norm, Real, Vectors


class DynamicTanh(Norm):
    """A tanh of each channel with a learned steepness alpha, followed by a learned gain and bias.

    Args:
        d_model: width of the tokens.
        initial: initial value of alpha, the learned factor inside the tanh.
    """

    def __init__(self, *, d_model: int, initial: Annotated[float, Range(0)]) -> None:
        super().__init__()
        self.initial = initial
        self.alpha = nn.Parameter(torch.tensor([float(initial)]))
        self.gain = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))

    def draw_initial_values(self, parameter: Tensor, generator: torch.Generator | None) -> None:
        """Set alpha to `initial`, the gain to 1 and the bias to 0, in place."""
        values = {id(self.alpha): self.initial, id(self.gain): 1.0, id(self.bias): 0.0}
        nn.init.constant_(parameter, values[id(parameter)])

    def forward(self, x: Vectors, real: Real | None = None) -> Vectors:
        """Return gain * tanh(alpha x) + bias, in the dtype of x; `real` has no effect."""
        return (self.gain * torch.tanh(self.alpha * x) + self.bias).to(x.dtype)
