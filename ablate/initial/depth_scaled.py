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

from torch import Tensor

from ablate.initial.outputs import ChangedOutputs, check_depth_rule
from ablate.model.base import Model


class DepthScaled(ChangedOutputs):
    """Scales the output projections down after another option has drawn the initial values.

    Args:
        of: the option of `initial` that draws all initial values.

    Raises:
        UserError: when called, the model, or its attention, has no output projections, or its
            residual connections already scale with depth.
    """

    name = "depth_scaled"

    def check(self, model: Model) -> None:
        """Raise UserError for a model without output projections, or with its own depth rule."""
        super().check(model)
        check_depth_rule(model, self.name)

    def change(self, matrix: Tensor, sublayers: int) -> None:
        """Divide an output projection by the root of the number of sub-layers."""
        matrix.div_(sublayers**0.5)
