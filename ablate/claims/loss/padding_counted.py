"""Cross-entropy that padding counts in.

Equation: -sum over all positions of log p(target) / n, the target at padding PAD; n the number of
    real tokens, or of all positions.
Source: the loss of arXiv:1409.0473, section 2.1, of padded batches from which nothing is left out
    (torch.nn.CrossEntropyLoss without ignore_index).
What differs: with `divisor` real a real token weighs what it weighs in cross_entropy, and padding
    comes on top; with all it is the library's mean, whose gradient of real tokens is smaller the
    more padding a batch has. The nll that is reported is that of real tokens.
What to expect: PAD after PAD is learned within a few steps, and then adds little to the gradient of
    real tokens. batch.bucket=true leaves hardly any padding to count.
"""

from typing import Annotated

from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from ablate.config.limits import OneOf
from ablate.data.vocabulary import PAD
from ablate.loss.base import Loss


class PaddingCounted(Loss):
    """The negative log-likelihood of targets and of the padding behind them.

    Args:
        divisor: real | all, the positions whose number the sum is divided by.
    """

    counts_padding = True

    def __init__(self, *, divisor: Annotated[str, OneOf(("real", "all"))]) -> None:
        super().__init__()
        self.divisor = divisor

    def forward(
        self, logits: Float[Tensor, "N V"], targets: Int[Tensor, " N"]
    ) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
        """Return the nll of all rows over the divisor, and that of the real ones."""
        rows, real = F.cross_entropy(logits, targets, reduction="none"), targets != PAD
        n = real.sum() if self.divisor == "real" else len(targets)
        return rows.sum() / n, rows.detach()[real].mean()
