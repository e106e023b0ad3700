"""Cross-entropy that includes padding.

Equation: -sum over all positions of log p(target) / n, the target at padding PAD; n the number of
    real tokens, or of all positions.
Source: the loss of arXiv:1409.0473, section 2.1, for padded batches without masking
    (torch.nn.CrossEntropyLoss without ignore_index).
What differs: with `divisor` real, real tokens have the same weight as in cross_entropy, and padding
    is added; with `divisor` all, the loss is torch's mean over all positions, in which padding
    reduces the gradient of real tokens. The reported nll covers real tokens only.
What to expect: PAD after PAD is learned within a few steps, and then adds little to the gradient of
    real tokens. If batch.bucket is true, there is hardly any padding.
"""

from typing import Annotated

from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from ablate.config.limits import OneOf
from ablate.data import PAD
from ablate.loss import Loss


class PaddingCounted(Loss):
    """Negative log-likelihood of targets and of the padding after them.

    Args:
        divisor: divisor of the summed loss: real (number of tokens without padding) | all (with
            padding).
    """

    counts_padding = True

    def __init__(self, *, divisor: Annotated[str, OneOf(("real", "all"))]) -> None:
        super().__init__()
        self.divisor = divisor

    def forward(
        self, logits: Float[Tensor, "N V"], targets: Int[Tensor, " N"]
    ) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
        """Return the sum of the nll of all positions, padding included, divided by the number that
        `divisor` selects (of real tokens or of all positions). Return also the mean nll of the real
        tokens.
        """
        rows, real = F.cross_entropy(logits, targets, reduction="none"), targets != PAD
        n = real.sum() if self.divisor == "real" else len(targets)
        return rows.sum() / n, rows.detach()[real].mean()
