"""Output projections with smaller initial values in deeper stacks.

Equation: option `of` draws the initial values; then the output projections of attention and
    feed-forward sub-layers are divided by sqrt(n), where n is the number of sub-layers of their
    stack.
Source: Radford et al. 2019 (GPT-2), section 2.3, and arXiv:2005.14165, section 2.1.
What differs: `of` may be any option of `initial`. GPT-2 draws from one normal distribution;
    `initial=gpt2` combines this with the scaling. If a norm directly follows the sub-layer, as in
    model/residual=peri_ln, the scaling has hardly any effect.
What to expect: at the start, the output of a deep stack is about as large as that of a shallow
    stack. Deep Pre-LN stacks therefore train a little faster at first; with few layers there is
    hardly a difference.
"""

import torch

from ablate.data.tokenizer import Tokenizers
from ablate.initial.base import Initial
from ablate.initial.outputs import (
    check_depth_rule,
    check_output_projections,
    output_projections,
)
from ablate.model.base import Model


class DepthScaled(Initial):
    """Scales the output projections down after another option has drawn the initial values.

    Args:
        of: the option of `initial` that draws all initial values.

    Raises:
        UserError: when called, the model, or its attention, has no output projections, or its
            residual connections already scale with depth.
    """

    def __init__(self, *, of: Initial) -> None:
        self.of = of

    @torch.no_grad()
    def __call__(self, model: Model, tokenizers: Tokenizers, seed: int) -> None:
        """Initialise every parameter in place."""
        check_output_projections(model, "depth_scaled")
        check_depth_rule(model, "depth_scaled")
        self.of(model, tokenizers, seed)
        for matrix, sublayers in output_projections(model):
            matrix.div_(sublayers**0.5)

    def fingerprint(self) -> str:
        """Return the hash of the files that the option `of` reads; "" if it reads no files."""
        return self.of.fingerprint()
