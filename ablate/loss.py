"""The losses that training minimises."""

from abc import ABC, abstractmethod
from enum import Enum
from math import log
from typing import Annotated, ClassVar, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from ablate import process
from ablate.config.limits import OneOf, Range
from ablate.data import PAD


class Law(Enum):
    """A property that tests check for every loss; a loss that violates it lists it in `breaks`."""

    NLL_WITHOUT_SMOOTHING = "a loss whose epsilon is 0 equals the negative log-likelihood"


class SummedLoss(NamedTuple):
    """The objective and the negative log-likelihood (nll), each summed over rows of logits.

    The caller must add `logit_coefficient` times the sum of all logits to the objective, and
    `logit_coefficient` to each entry of the gradient. The coefficient is 0 without label smoothing.
    With label smoothing, it is -q, where q is the probability that the smoothed target gives to
    each token other than the true token and PAD. A linear layer can add these terms without another
    pass over the logits.
    """

    objective: Float[Tensor, ""]
    nll: Float[Tensor, ""]
    logit_coefficient: float = 0.0


class Loss(nn.Module, ABC):
    """A training objective, together with the unsmoothed nll by which arms are compared."""

    breaks: ClassVar[frozenset[Law]] = frozenset()
    # whether the objective is a mean over rows, so that it can be computed in chunks of rows
    mean_over_rows: ClassVar[bool] = False
    counts_padding: ClassVar[bool] = False  # whether rows whose target is PAD are included

    def counted(self, targets: Int[Tensor, "B T"]) -> Bool[Tensor, "B T"]:
        """Return a mask of the positions that enter the loss."""
        return torch.ones_like(targets).bool() if self.counts_padding else targets != PAD

    @abstractmethod
    def forward(
        self, logits: Float[Tensor, "N V"], targets: Int[Tensor, " N"]
    ) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
        """Return two means over the N rows: the objective, and the nll in nats without gradient.

        The rows are the positions that `counted` selects: real tokens, and padding if the loss
        includes it.
        """

    def gradient(
        self, logits: Float[Tensor, "N V"], targets: Int[Tensor, " N"], out: Float[Tensor, "N V"]
    ) -> SummedLoss:
        """Write the gradient of the summed objective with respect to the logits to `out`.

        Return the sums of objective and nll over the N rows. A loss whose gradient has a closed
        form overrides this method, and then needs no autograd graph.
        """
        with torch.enable_grad():
            logits = logits.detach().requires_grad_()
            objective, nll = self(logits, targets)
            (gradient,) = torch.autograd.grad(objective * len(targets), logits)
        out.copy_(gradient)
        return SummedLoss(objective.detach() * len(targets), nll * len(targets))


class Target(NamedTuple):
    """A smoothed target: the probabilities of the true token, of PAD, and of every other token."""

    true: float
    pad: float
    other: float


def cross_entropy(
    logits: Float[Tensor, "N V"], targets: Int[Tensor, " N"], q: Target, out: Float[Tensor, "N V"]
) -> SummedLoss:
    """Compute cross-entropy and its gradient for a target that is uniform except for two tokens.

    Return the summed cross-entropy with target q and the summed nll; write a gradient to `out`.

    Equation: log Z - sum_v q_v x_v with logits x, target q and Z = sum_v exp x_v. The gradient with
        respect to x is softmax(x) - q.
    Source: arXiv:1512.00567, section 7 (the gradient of the cross-entropy is p - q).
    What differs: the softmax is the only pass over all logits. One term, described at
        `ablate.loss.SummedLoss`, is left to the caller. Probabilities have the dtype of the
        logits; in bfloat16 this adds a relative error of at most 1/512.

    The gradient is that of the cross-entropy with respect to the logits. Cross-entropy and gradient
    both lack the term that `ablate.loss.SummedLoss` describes.
    """
    at_true = torch.arange(len(targets), device=targets.device), targets
    p = torch.softmax(logits, 1, out=out)
    wide = torch.promote_types(p.dtype, torch.float32)
    p_true, true = (x[at_true].to(wide) for x in (p, logits))
    if process.uses_cpu_path(logits.device):
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
    return SummedLoss(objective, nll, logit_coefficient=-q.other)


class CrossEntropy(Loss):
    """Cross-entropy with the true token.

    The negative log-likelihood (nll) as the training objective.

    Equation: -log p(true).
    Source: arXiv:1409.0473, section 2.1 (maximum likelihood of the translation).
    What differs: nothing.
    What to expect: the best nll; BLEU slightly below that of a smoothed objective.
    """

    mean_over_rows = True

    def forward(
        self, logits: Float[Tensor, "N V"], targets: Int[Tensor, " N"]
    ) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
        """Return the nll as objective, and the nll without gradient."""
        nll = F.cross_entropy(logits, targets)
        return nll, nll.detach()

    def gradient(
        self, logits: Float[Tensor, "N V"], targets: Int[Tensor, " N"], out: Float[Tensor, "N V"]
    ) -> SummedLoss:
        """Return the summed nll as objective and as nll; write its gradient to `out`."""
        return cross_entropy(logits, targets, Target(true=1.0, pad=0.0, other=0.0), out)


TARGETS = ("vocab", "not_true", "not_true_nor_pad")


class LabelSmoothing(Loss):
    """Label smoothing.

    Cross-entropy with a smoothed target.

    Equation: cross-entropy with a target that has (1 - epsilon) on the true token, and epsilon
        spread evenly: `vocab`: epsilon / V over all tokens, including the true token and PAD;
        `not_true`: epsilon / (V - 1) over all tokens except the true one; `not_true_nor_pad`:
        epsilon / (V - 2), also without PAD.
    Source: arXiv:1512.00567, section 7 (vocab); arXiv:1706.03762, section 5.4 (epsilon 0.1). torch
        computes vocab, fairseq (arXiv:1904.01038) not_true, and the Annotated Transformer
        (doi:10.18653/v1/W18-2509) not_true_nor_pad.
    What differs: the last source uses a Kullback-Leibler divergence; this is the cross-entropy,
        which is larger by a constant (the entropy of the target) and has the same gradient.
    What to expect: a higher nll and a higher BLEU; the objectives of different settings of `target`
        or `epsilon` are not comparable.

    Args:
        epsilon: probability taken from the true token, at least 0 and below 1.
        target: tokens that share `epsilon`: vocab (all) | not_true (all but the true one) |
            not_true_nor_pad (also not PAD).

    Raises:
        UserError: a value is invalid.
    """

    mean_over_rows = True

    def __init__(
        self, *, epsilon: Annotated[float, Range(0, 0.99)], target: Annotated[str, OneOf(TARGETS)]
    ) -> None:
        super().__init__()
        self.epsilon = epsilon
        self.target = target

    def forward(
        self, logits: Float[Tensor, "N V"], targets: Int[Tensor, " N"]
    ) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
        """Return the smoothed cross-entropy and the nll."""
        log_p = logits.log_softmax(-1)
        nll = F.nll_loss(log_p, targets)
        smoothed = -log_p.sum(1).mean()  # summed over all tokens that share epsilon
        sharing = logits.size(1)
        if self.target != "vocab":
            smoothed, sharing = smoothed - nll, sharing - 1
        if self.target == "not_true_nor_pad":
            smoothed, sharing = smoothed + log_p[:, PAD].mean(), sharing - 1
        return (1 - self.epsilon) * nll + self.epsilon / sharing * smoothed, nll.detach()

    def gradient(
        self, logits: Float[Tensor, "N V"], targets: Int[Tensor, " N"], out: Float[Tensor, "N V"]
    ) -> SummedLoss:
        """Return the sums of the smoothed cross-entropy and the nll; write the gradient to `out`.

        The gradient is that of the smoothed cross-entropy with respect to the logits.
        """
        return cross_entropy(logits, targets, self.distribution(logits.size(1)), out)

    def distribution(self, vocab: int) -> Target:
        """Return the smoothed target for this vocabulary size."""
        share = self.epsilon / (vocab - TARGETS.index(self.target))
        q = {
            "vocab": Target(1 - self.epsilon + share, share, share),
            "not_true": Target(1 - self.epsilon, share, share),
            "not_true_nor_pad": Target(1 - self.epsilon, 0.0, share),
        }
        return q[self.target]


class KullbackLeibler(LabelSmoothing):
    """Kullback-Leibler divergence from a smoothed target.

    The Kullback-Leibler divergence of the prediction from a smoothed target.

    Equation: sum_v q_v (log q_v - log p_v), where q is the target of `label_smoothing`, p are the
        predicted probabilities, and 0 log 0 = 0.
    Source: doi:10.18653/v1/W18-2509 (used by the Annotated Transformer), arXiv:1512.00567, section
        7.
    What differs: the result is a mean over tokens; in the source it is a sum, which is divided
        later.
    What to expect: the gradient of the smoothed cross-entropy, and therefore the same training; the
        objective is smaller by the entropy of q, and can reach 0.

    It equals the smoothed cross-entropy minus the entropy of the target.

    Args:
        epsilon: probability taken from the true token, at least 0 and below 1.
        target: tokens that share `epsilon`: vocab (all) | not_true (all but the true one) |
            not_true_nor_pad (also not PAD).

    Raises:
        UserError: a value is invalid.
    """

    def forward(
        self, logits: Float[Tensor, "N V"], targets: Int[Tensor, " N"]
    ) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
        """Return the mean divergence from the smoothed target and the mean nll, both in nats."""
        objective, nll = super().forward(logits, targets)
        return objective - self.entropy(logits.size(1)), nll

    def gradient(
        self, logits: Float[Tensor, "N V"], targets: Int[Tensor, " N"], out: Float[Tensor, "N V"]
    ) -> SummedLoss:
        """Return the summed divergence and the summed nll; write the gradient to `out`.

        The gradient is that of the divergence with respect to the logits.
        """
        scored = super().gradient(logits, targets, out)
        least = len(targets) * self.entropy(logits.size(1))
        return scored._replace(objective=scored.objective - least)

    def entropy(self, vocab: int) -> float:
        """Return the entropy of the smoothed target for this vocabulary size, in nats."""
        q = self.distribution(vocab)
        masses = ((1, q.true), (1, q.pad), (vocab - 2, q.other))
        return -sum(n * p * log(p) for n, p in masses if p > 0)


class ZLoss(Loss):
    """Cross-entropy with a penalty on the size of the logits (z-loss).

    The negative log-likelihood plus the squared logarithm of the softmax's denominator.

    Equation: -log p(true) + coefficient * log(Z)^2, where Z = sum_v exp x_v for logits x.
    Source: arXiv:2204.02311, section 5 (10^-4); arXiv:2309.14322, section 3.1.2, on why log Z
        drifts away from 0.
    What differs: nothing.
    What to expect: log Z stays near 0. The nll hardly changes if training is stable without it.

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
