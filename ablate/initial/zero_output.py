"""Initialise output projections with zero, so that every sub-layer adds nothing at first.

Equation: option `of` draws the initial values; then the output projections of attention and
    feed-forward sub-layers are set to 0. With Pre-LN, a stack starts as the identity.
Source: arXiv:1901.09321, section 3.1 (Fixup: the last layer of each residual branch starts at 0).
    arXiv:2003.04887 (ReZero) multiplies every branch by 0 for the same purpose.
What differs: Fixup has no norms and scales the other layers as well; ReZero learns the factor.
What to expect: signals and gradients pass the stack undiminished at any depth. In the first step,
    only the output projections and parameters outside the stack have non-zero gradients.
"""

import torch

from ablate.data.tokenizer import Tokenizers
from ablate.initial.base import Initial
from ablate.initial.outputs import check_output_projections, output_projections
from ablate.model.base import Model


class ZeroOutput(Initial):
    """Sets output projections to 0 after another option has drawn the initial values.

    Args:
        of: the option of `initial` that draws all other initial values.

    Raises:
        UserError: when called, the model, or its attention, has no output projections.
    """

    def __init__(self, *, of: Initial) -> None:
        self.of = of

    @torch.no_grad()
    def __call__(self, model: Model, tokenizers: Tokenizers, seed: int) -> None:
        """Initialise every parameter in place."""
        check_output_projections(model, "zero_output")
        self.of(model, tokenizers, seed)
        for matrix, _ in output_projections(model):
            matrix.zero_()

    def fingerprint(self) -> str:
        """Return the hash of the files that the option `of` reads; "" if it reads no files."""
        return self.of.fingerprint()
