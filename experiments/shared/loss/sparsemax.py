"""Sparsemax with its loss.

Equation: p = sparsemax(x), p_v = max(0, x_v - tau), tau such that these sum to one; L(x) = p x -
    |p|^2 / 2 - x_true + 1 / 2; the gradient of L with respect to the logits is p - y, with y one at
    the true token.
Source: arXiv:1602.02068, sections 2.2 and 3.2, which writes the same loss with tau.
What differs: the reported nll is that of the softmax, as in all arms; sparsemax gives most tokens
    zero probability, so its nll would be infinite.
What to expect: the loss is 0 if the true logit exceeds all others by 1; nll and calibration are
    worse than with cross-entropy, because the softmax is not trained. Greedy search is unaffected,
    because sparsemax keeps the order of logits; beam search adds log-probabilities of the softmax.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from ablate.loss import Law, Loss, SummedLoss


class Sparsemax(Loss):
    """The sparsemax loss, whose gradient is the sparsemax minus the one-hot target."""

    breaks = frozenset({Law.NLL_WITHOUT_SMOOTHING})
    mean_over_rows = True

    def forward(
        self, logits: Float[Tensor, "N V"], targets: Int[Tensor, " N"]
    ) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
        """Return the means over tokens of the sparsemax loss and of the nll of the softmax."""
        rows = losses(logits, targets, sparsemax(logits.detach()))
        return rows.mean(), F.cross_entropy(logits.detach(), targets)

    def gradient(
        self, logits: Float[Tensor, "N V"], targets: Int[Tensor, " N"], out: Float[Tensor, "N V"]
    ) -> SummedLoss:
        """Write the gradient of the summed loss with respect to the logits into `out`. Return the
        sums over tokens of the loss and of the nll.
        """
        x = logits.float() if logits.dtype in (torch.bfloat16, torch.float16) else logits
        p = sparsemax(x)
        objective = losses(x, targets, p).sum()
        p[torch.arange(len(targets), device=targets.device), targets] -= 1
        out.copy_(p)
        return SummedLoss(objective, F.cross_entropy(x, targets, reduction="sum"))


def sparsemax(x: Float[Tensor, "N V"]) -> Float[Tensor, "N V"]:
    """Return the sparsemax of each row: the probability distribution that is closest to the row."""
    largest = x.sort(descending=True).values
    above = largest.cumsum(1) - 1
    number = torch.arange(1, x.size(1) + 1, device=x.device)
    size = (number * largest > above).sum(1, keepdim=True)
    return (x - above.gather(1, size - 1) / size).clamp(min=0)


def losses(
    x: Float[Tensor, "N V"], targets: Int[Tensor, " N"], p: Float[Tensor, "N V"]
) -> Float[Tensor, " N"]:
    """Return the sparsemax loss of each row of logits.

    Args:
        x: logits.
        targets: id of the true token of each row.
        p: sparsemax(x). Among all distributions, p maximises the expression for the loss, so the
            gradient through p is 0.
    """
    at_true = x.gather(1, targets[:, None])[:, 0]
    return (p * x - p * p / 2).sum(1) - at_true + 0.5
