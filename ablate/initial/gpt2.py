"""Initialise as GPT-2: all matrices from one normal distribution, output projections scaled down.

Equation: every matrix is normal with standard deviation `std`. The output projections of attention
    and of feed-forward sub-layers are then divided by sqrt(n), where n is the number of sub-layers
    of their stack. Biases are 0 and gains 1.
Source: Radford et al. 2019 (GPT-2), section 2.3, and arXiv:2005.14165, section 2.1; 0.02 is the
    standard deviation in the authors' code.
What differs: every parameter has a separate random generator. n counts the sub-layers of one stack;
    a sub-layer whose weights are shared counts each time it is used.
What to expect: an initial nll of ln V, because hidden states (and with a tied matrix, logits) are
    small. Combine it with model.embedding.scaled=false, as in GPT-2.
"""

from typing import Annotated

import torch

from ablate.config.limits import Range
from ablate.data.tokenizer import Tokenizers
from ablate.initial.normal import Normal
from ablate.initial.outputs import check_depth_rule, output_projections
from ablate.model.base import Model


class Gpt2(Normal):
    """Draws every matrix from one normal distribution, and scales the output projections down.

    Args:
        std: standard deviation of initial values, except in output projections.

    Raises:
        UserError: when called, the residual connections already scale with depth.
    """

    def __init__(self, *, std: Annotated[float, Range(0)]) -> None:
        self.std = std

    def check(self, model: Model) -> None:
        """Raise UserError for muP, and for residual connections with their own depth rule."""
        super().check(model)
        check_depth_rule(model, "gpt2")

    @torch.no_grad()
    def __call__(self, model: Model, tokenizers: Tokenizers, seed: int) -> None:
        """Initialise every parameter in place."""
        super().__call__(model, tokenizers, seed)
        for matrix, sublayers in output_projections(model):
            matrix.div_(sublayers**0.5)
