"""Cross-entropy with a target distribution that is even but for two tokens, and its gradient.

Equation: log Z - sum_v q_v x_v with Z = sum_v exp x_v; by the logits: softmax(x) - q.
Source: arXiv:1512.00567, section 7 (the gradient of the cross-entropy is p - q).
What differs: nothing; the softmax is the only pass over all logits. What q gives to every token
    alike is told, not subtracted.
"""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from ablate.data.vocabulary import PAD
from ablate.loss.base import Scored

SMALLEST = -60.0  # log-probability; float32 has full precision down to -87


class Target(NamedTuple):
    """Probabilities that sum to one: of the true token, of PAD, and of every other token."""

    true: float
    pad: float
    other: float


def cross_entropy(logits: Float[Tensor, "N V"], targets: Int[Tensor, " N"], q: Target) -> Scored:
    """Return sums over the rows of the cross-entropy and the nll, and the former's gradient."""
    scores = logits.float()
    true = targets[:, None]
    p = scores.softmax(1)
    log_p = p.gather(1, true).log_()
    # a probability that all but underflows has lost its digits; its row is taken anew
    (lost,) = (log_p[:, 0] < SMALLEST).nonzero(as_tuple=True)
    log_p[lost] = scores[lost].log_softmax(1).gather(1, true[lost])
    nll = -log_p.sum()
    # log Z = x_true - log p_true, and so the cross-entropy is nll + sum_v q_v (x_true - x_v)
    at_true = scores.gather(1, true).sum()
    pad = q.pad - q.other
    objective = nll + at_true * (1 - q.true + q.other) - pad * scores[:, PAD].sum()
    p[:, PAD] -= pad
    p.scatter_add_(1, true, torch.full_like(p[:, :1], q.other - q.true))
    return Scored(objective, nll, p, even=-q.other)
