"""Kullback-Leibler divergence from a smoothed target.

Equation: sum_v q_v (log q_v - log p_v), where q is the target of `label_smoothing`, p are the
    predicted probabilities, and 0 log 0 = 0.
Source: doi:10.18653/v1/W18-2509 (used by the Annotated Transformer), arXiv:1512.00567, section 7.
What differs: the result is a mean over tokens; in the source it is a sum, which is divided later.
What to expect: the gradient of the smoothed cross-entropy, and therefore the same training; the
    objective is smaller by the entropy of q, and can reach 0.
"""

from math import log

from jaxtyping import Float, Int
from torch import Tensor

from ablate.loss.base import Scored
from ablate.loss.label_smoothing import LabelSmoothing


class KullbackLeibler(LabelSmoothing):
    """The Kullback-Leibler divergence of the prediction from a smoothed target.

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
    ) -> Scored:
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
