"""Cross-entropy with the true token.

Equation: -log p(true).
Source: arXiv:1409.0473, section 2.1 (maximum likelihood of the translation).
What differs: nothing.
What to expect: the best nll; BLEU slightly below that of a smoothed objective.
"""

from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from ablate.loss.base import Loss, Scored
from ablate.loss.closed_form import Target, cross_entropy


class CrossEntropy(Loss):
    """The negative log-likelihood (nll) as the training objective."""

    mean_over_rows = True

    def forward(
        self, logits: Float[Tensor, "N V"], targets: Int[Tensor, " N"]
    ) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
        """Return the nll as objective, and the nll without gradient."""
        nll = F.cross_entropy(logits, targets)
        return nll, nll.detach()

    def gradient(
        self, logits: Float[Tensor, "N V"], targets: Int[Tensor, " N"], out: Float[Tensor, "N V"]
    ) -> Scored:
        """Return the summed nll as objective and as nll; write its gradient to `out`."""
        return cross_entropy(logits, targets, Target(true=1.0, pad=0.0, other=0.0), out)
