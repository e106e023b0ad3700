"""Squared or absolute difference between predicted probabilities and the one-hot target.

Equation: sum_v |p_v - y_v|^power, y one at the true token and zero elsewhere; `squared`: power 2,
    `absolute`: power 1, which is 2 (1 - p(true)).
Source: squared: arXiv:2006.07322 (Hui and Belkin); absolute: arXiv:1712.09482, section 3 (Ghosh).
What differs: Hui and Belkin use squared differences of logits; here they are of probabilities
    (Brier score).
What to expect: gradients vanish while p(true) is small, as at the start with a large vocabulary, so
    both learn late or not at all where cross-entropy succeeds.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from ablate.errors import UserError
from ablate.loss import Law, Loss


class Difference(Loss):
    """A loss: the mean over tokens of the summed differences between probabilities and the one-hot
    target.

    Args:
        power: exponent of the differences: 1 (absolute) | 2 (squared).

    Raises:
        UserError: `power` is neither 1 nor 2.
    """

    breaks = frozenset({Law.NLL_WITHOUT_SMOOTHING})
    mean_over_rows = True

    def __init__(self, *, power: int) -> None:
        super().__init__()
        if power not in (1, 2):
            raise UserError(f"loss.power is {power}: it must be 1 or 2")
        self.power = power

    def forward(
        self, logits: Float[Tensor, "N V"], targets: Int[Tensor, " N"]
    ) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
        """Return the loss and the nll, both as means over tokens. The loss of a token is the sum
        over the vocabulary of |p - y|^power, where p are the probabilities and y is the one-hot
        target.
        """
        log_p = logits.log_softmax(-1)
        p = log_p.exp()
        powers = p.pow(self.power).sum(1)
        p_true = p[torch.arange(len(targets), device=targets.device), targets]
        rows = powers - p_true.pow(self.power) + (1 - p_true).pow(self.power)
        return rows.mean(), F.nll_loss(log_p.detach(), targets)
