"""Cross-entropy with a penalty on the size of the logits (z-loss).

Equation: -log p(true) + coefficient * log(Z)^2, where Z = sum_v exp x_v for logits x.
Source: arXiv:2204.02311, section 5 (10^-4); arXiv:2309.14322, section 3.1.2, on why log Z drifts
    away from 0.
What differs: nothing.
What to expect: log Z stays near 0. The nll hardly changes if training is stable without it.
"""

from typing import Annotated

from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from ablate.config.limits import Range
from ablate.loss.base import Law, Loss


class ZLoss(Loss):
    """The negative log-likelihood plus the squared logarithm of the softmax's denominator.

    Args:
        coefficient: weight of the penalty, which is the squared logarithm of the softmax
            denominator.
    """

    breaks = frozenset({Law.NLL_WITHOUT_SMOOTHING})  # the penalty remains
    mean_over_rows = True

    def __init__(self, *, coefficient: Annotated[float, Range(0)]) -> None:
        super().__init__()
        self.coefficient = coefficient

    def forward(
        self, logits: Float[Tensor, "N V"], targets: Int[Tensor, " N"]
    ) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
        """Return the penalised objective and the nll."""
        nll = F.cross_entropy(logits, targets)
        penalty = logits.logsumexp(-1).square().mean()
        return nll + self.coefficient * penalty, nll.detach()
