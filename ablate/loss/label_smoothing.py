"""Label smoothing.

Equation: cross-entropy with a target that has (1 - epsilon) on the true token, and epsilon spread
    evenly: `vocab`: epsilon / V over all tokens, including the true token and PAD; `not_true`:
    epsilon / (V - 1) over all tokens except the true one; `not_true_nor_pad`: epsilon / (V - 2),
    also without PAD.
Source: arXiv:1512.00567, section 7 (vocab); arXiv:1706.03762, section 5.4 (epsilon 0.1). torch
    computes vocab, fairseq (arXiv:1904.01038) not_true, and the Annotated Transformer
    (doi:10.18653/v1/W18-2509) not_true_nor_pad.
What differs: the last source uses a Kullback-Leibler divergence; this is the cross-entropy, which
    is larger by a constant (the entropy of the target) and has the same gradient.
What to expect: a higher nll and a higher BLEU; the objectives of different settings of `target` or
    `epsilon` are not comparable.
"""

from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from ablate.config.limits import check_fraction, check_one_of
from ablate.data.vocabulary import PAD
from ablate.loss.base import Loss, Scored
from ablate.loss.closed_form import Target, cross_entropy

TARGETS = ("vocab", "not_true", "not_true_nor_pad")


class LabelSmoothing(Loss):
    """Cross-entropy with a smoothed target.

    Args:
        epsilon: probability taken from the true token, at least 0 and below 1.
        target: tokens that share `epsilon`: vocab (all) | not_true (all but the true one) |
            not_true_nor_pad (also not PAD).

    Raises:
        UserError: a value is invalid.
    """

    mean_over_rows = True

    def __init__(self, *, epsilon: float, target: str) -> None:
        super().__init__()
        check_fraction("loss.epsilon", epsilon)
        check_one_of("loss.target", target, TARGETS)
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
    ) -> Scored:
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
