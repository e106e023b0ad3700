"""One small standard deviation for the whole model, as GPT-2 starts.

Equation: every matrix is normal with standard deviation `std`; those that write into the residual
    stream (the output projections of attention and of feed-forward sub-layers) are divided by
    sqrt(n), n the number of sub-layers; biases 0, gains 1.
Source: Radford et al. 2019 (GPT-2), section 2.3, and arXiv:2005.14165, section 2.1; 0.02 is the
    standard deviation of the authors' code.
What differs: every parameter draws from a generator of its own. N counts the sub-layers of the
    parameter's own stack, those that share weights each time they act.
What to expect: an nll of ln V at the start, since the states, and with a tied matrix the logits,
    are small; choose model.embedding.scaled=false with it, as in GPT-2.
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
    """Draws every matrix alike.

    Args:
        std: standard deviation, of what does not write into the residual stream.

    Raises:
        UserError: when called, the residual connections scale by the depth as well.
    """

    def __init__(self, *, std: Annotated[float, Range(0)]) -> None:
        self.std = std

    @torch.no_grad()
    def __call__(self, model: Model, tokenizers: Tokenizers, seed: int) -> None:
        """Fill every parameter in place."""
        check_depth_rule(model, "gpt2")
        draw_normal(model, self.std, seed)
        for matrix, sublayers in output_projections(model):
            matrix.div_(sublayers**0.5)
