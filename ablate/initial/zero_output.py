"""Initialise output projections with zero, so that every sub-layer adds nothing at first.

Equation: option `of` draws the initial values; then the output projections of attention and
    feed-forward sub-layers are set to 0. With Pre-LN, a stack starts as the identity.
Source: arXiv:1901.09321, section 3.1 (Fixup: the last layer of each residual branch starts at 0).
    arXiv:2003.04887 (ReZero) multiplies every branch by 0 for the same purpose.
What differs: Fixup has no norms and scales the other layers as well; ReZero learns the factor.
    A residual connection that normalises the output of the sub-layer alone (peri_ln, none) is
    refused: the norm of 0 has gradients of size 1 / sqrt(eps), and after one step the output is as
    large as without this option. Without a skip connection all gradients would be 0.
What to expect: signals and gradients pass the stack undiminished at any depth. In the first step,
    only the output projections and parameters outside the stack have non-zero gradients.
"""

from torch import Tensor

from ablate.errors import UserError
from ablate.initial.outputs import ChangedOutputs, residuals
from ablate.model.base import Model


class ZeroOutput(ChangedOutputs):
    """Sets output projections to 0 after another option has drawn the initial values.

    Args:
        of: the option of `initial` that draws all other initial values.

    Raises:
        UserError: when called, the model, or its attention, has no output projections, or its
            residual connections normalise the output of a sub-layer alone.
    """

    name = "zero_output"

    def check(self, model: Model) -> None:
        """Raise UserError for a model without output projections, or with norms after them."""
        super().check(model)
        for residual in residuals(model):
            if residual.normalises_outputs:
                raise UserError(
                    "initial=zero_output sets the outputs of sub-layers to 0, but model/residual "
                    f"({type(residual).__name__}) divides them by their size: a first step of any "
                    "size would make them as large as without this option, or all gradients would "
                    "be 0. Choose initial=seeded, or another model/residual, such as pre_ln"
                )

    def change(self, matrix: Tensor, sublayers: int) -> None:
        """Set an output projection to 0."""
        matrix.zero_()
