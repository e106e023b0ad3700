"""The mean of a per-token quantity over a whole split."""

import torch
from jaxtyping import Float
from torch import Tensor
from torchmetrics import Metric


class TokenMean(Metric):
    """Mean over tokens, from the mean and the number of tokens of each batch.

    A float32 mean times a count is exact in float64, and so are sums of such products while the
    total stays below 2^30 times the smallest mean's power of two (means from 1/32 on: a total up
    to 33 million nats). The order of the batches, hence the number of devices, then changes no
    bit. A NaN or an infinity stays and shows in the result.
    """

    full_state_update = False
    total: Tensor
    count: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.add_state("total", torch.zeros((), dtype=torch.float64), dist_reduce_fx="sum")
        self.add_state("count", torch.zeros((), dtype=torch.int64), dist_reduce_fx="sum")

    def update(self, mean: Float[Tensor, ""], count: int) -> None:
        """Add a batch of `count` tokens; one without tokens, whose mean is 0/0, adds nothing."""
        if count:
            self.total += mean.detach().double() * count
            self.count += count

    def compute(self) -> Float[Tensor, ""]:
        """Return the mean as float64; NaN when there were no tokens at all."""
        return self.total / self.count
