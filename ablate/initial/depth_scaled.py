"""Output projections that start smaller the deeper the stack.

Equation: `of` draws the initial values; then the output projections of attention and feed-forward
    sub-layers are divided by sqrt(n), n the number of sub-layers of their stack.
Source: Radford et al. 2019 (GPT-2), section 2.3, and arXiv:2005.14165, section 2.1.
What differs: `of` may be any rule; GPT-2's is one standard deviation (`initial=gpt2` is both).
What to expect: the residual stream of n sub-layers starts about as large as that of one, so that
    deep Pre-LN stacks train a little faster at first; at few layers hardly a difference.
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
    """Scale down the output projections after another rule.

    Args:
        of: the rule that draws all initial values.

    Raises:
        UserError: when called, the model has no output projections, or its residual connections
            already scale with depth.
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
        """Return the fingerprint of the other rule."""
        return self.of.fingerprint()
