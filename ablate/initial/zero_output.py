"""Output projections that start at zero, so that every sub-layer adds nothing at first.

Equation: of the initial values that `of` draws, the output projections of attention and of
    feed-forward sub-layers are set to 0; with Pre-LN a stack starts as the identity.
Source: arXiv:1901.09321, section 3.1 (Fixup: the last layer of each residual branch starts at 0).
    arXiv:2003.04887 (ReZero) has a factor of 0 in front of every branch, to the same end.
What differs: Fixup has no norms and scales the other layers as well; ReZero learns the factor.
What to expect: signals and gradients pass the stack undiminished at any depth. In the first step
    only the output projections and what is outside the stack have a gradient other than 0.
"""

import torch

from ablate.data.tokenizer import Tokenizers
from ablate.initial.base import Initial
from ablate.initial.outputs import check_output_projections, output_projections
from ablate.model.base import Model


class ZeroOutput(Initial):
    """Sets the output projections of another rule to 0.

    Args:
        of: draws all other initial values.

    Raises:
        UserError: when called, the model has no output projections.
    """

    def __init__(self, *, of: Initial) -> None:
        self.of = of

    @torch.no_grad()
    def __call__(self, model: Model, tokenizers: Tokenizers, seed: int) -> None:
        """Fill every parameter in place."""
        check_output_projections(model, "zero_output")
        self.of(model, tokenizers, seed)
        for matrix, _ in output_projections(model):
            matrix.zero_()

    def fingerprint(self) -> str:
        """Return that of the other rule."""
        return self.of.fingerprint()
