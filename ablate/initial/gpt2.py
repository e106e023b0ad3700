"""One small standard deviation for the whole model, as GPT-2 starts.

Equation: every matrix is normal with standard deviation `std`; those that write into the residual
    stream (the output projections of attention and of feed-forward sub-layers) are divided by
    sqrt(n), n the number of sub-layers; biases 0, gains 1.
Source: Radford et al. 2019 (GPT-2), section 2.3, and arXiv:2005.14165, section 2.1; 0.02 is the
    standard deviation of the authors' code.
What differs: every parameter has a separate random generator. n counts the sub-layers of the
    parameter's stack; sub-layers that share weights count each time they are used.
What to expect: an initial nll of ln V, because states (and with a tied matrix, logits) are small;
    combine it with model.embedding.scaled=false, as in GPT-2.
"""

from typing import Annotated

import torch

from ablate.config.limits import Range
from ablate.data.tokenizer import Tokenizers
from ablate.initial.base import Initial
from ablate.initial.normal import draw_normal
from ablate.initial.outputs import check_depth_rule, output_projections
from ablate.model.base import Model


class Gpt2(Initial):
    """Draw every matrix from the same normal distribution, and scale output projections.

    Args:
        std: standard deviation of matrices that do not write into the residual stream.

    Raises:
        UserError: when called, the residual connections already scale with depth.
    """

    def __init__(self, *, std: Annotated[float, Range(0)]) -> None:
        self.std = std

    @torch.no_grad()
    def __call__(self, model: Model, tokenizers: Tokenizers, seed: int) -> None:
        """Initialise every parameter in place."""
        check_depth_rule(model, "gpt2")
        draw_normal(model, self.std, seed)
        for matrix, sublayers in output_projections(model):
            matrix.div_(sublayers**0.5)
