"""Compute the mean of a per-token quantity, such as nll, over a whole split."""

import torch
from jaxtyping import Float
from torch import Tensor
from torchmetrics import Metric


class TokenMean(Metric):
    """The mean of a quantity over the tokens of all batches, given each batch's mean and size.

    The result does not depend on the order of batches or the number of devices, because the sums
    are exact in float64. If every batch has a mean of at least 1/32 nat, they are exact up to a
    total of 33 million nats. In general, if every mean is at least 2^-k, they are exact up to a
    total of 2^(30 - k). If a mean is NaN or infinite, so is the result.
    """

    full_state_update = False
    total: Tensor
    count: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.add_state("total", torch.zeros((), dtype=torch.float64), dist_reduce_fx="sum")
        self.add_state("count", torch.zeros((), dtype=torch.int64), dist_reduce_fx="sum")

    def update(self, mean: Float[Tensor, ""], count: int) -> None:
        """Add a batch of `count` tokens; a batch without tokens, whose mean is 0/0, is ignored."""
        if count:
            self.total += mean.detach().double() * count
            self.count += count

    def compute(self) -> Float[Tensor, ""]:
        """Return the mean as float64; NaN if there were no tokens."""
        return self.total / self.count
