"""Compute cross-entropy and its gradient for a target that is uniform except for two tokens.

Equation: log Z - sum_v q_v x_v with logits x, target q and Z = sum_v exp x_v. The gradient with
    respect to x is softmax(x) - q.
Source: arXiv:1512.00567, section 7 (the gradient of the cross-entropy is p - q).
What differs: the softmax is the only pass over all logits. One term, described at
    `ablate.loss.base.Scored`, is left to the caller. Probabilities have the dtype of the logits; in
    bfloat16 this adds a relative error of at most 1/512.
"""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from ablate import hardware
from ablate.data.vocabulary import PAD
from ablate.loss.base import Scored


class Target(NamedTuple):
    """A smoothed target: the probabilities of the true token, of PAD, and of every other token."""

    true: float
    pad: float
    other: float


def cross_entropy(
    logits: Float[Tensor, "N V"], targets: Int[Tensor, " N"], q: Target, out: Float[Tensor, "N V"]
) -> Scored:
    """Return the summed cross-entropy with target q and the summed nll; write a gradient to `out`.

    The gradient is that of the cross-entropy with respect to the logits. Cross-entropy and gradient
    both lack the term that `ablate.loss.base.Scored` describes.
    """
    at_true = torch.arange(len(targets), device=targets.device), targets
    p = torch.softmax(logits, 1, out=out)
    wide = torch.promote_types(p.dtype, torch.float32)
    p_true, true = (x[at_true].to(wide) for x in (p, logits))
    if hardware.uses_cpu_path(logits.device):
        log_p = p_true.log()
        # a probability near underflow has lost precision, so its row is computed again
        (lost,) = (p_true < torch.finfo(p.dtype).tiny).nonzero(as_tuple=True)
        log_p[lost] = -F.cross_entropy(logits[lost].to(wide), targets[lost], reduction="none")
    else:  # the largest probability of a row is never near underflow
        log_p = true - logits.amax(1).to(wide) + p.amax(1).to(wide).log()
    nll = -log_p.sum()
    # log Z = x_true - log p_true, and so the cross-entropy is nll + sum_v q_v (x_true - x_v)
    x_true, x_pad = true.sum(), logits[:, PAD].to(wide).sum()
    pad = q.pad - q.other
    objective = nll + x_true * (1 - q.true + q.other) - pad * x_pad
    p[:, PAD] -= pad
    p[at_true] = (p_true - (q.true - q.other)).to(p.dtype)  # scatter_ would copy bfloat16
    return Scored(objective, nll, uniform=-q.other)
