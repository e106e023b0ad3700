"""Cosine attention: scores are the cosines of the angles between queries and keys.

Equation: weights = softmax(g * cos(q, k)), cos(q, k) = q k^T / (|q| |k|); g is learned.
Source: arXiv:2010.04245 (query-key normalisation), section 3.2; with a fixed factor arXiv:1410.5401
    (content addressing), which calls the factor a key strength.
What differs: each attention sub-layer learns its own g, whereas the paper learns one g for the
    model. g starts at `scale`; the paper starts at log2(L^2 - L) for the length L that covers 97.5
    % of training.
What to expect: scores stay within +-g, so vectors of large norm cannot saturate the softmax. The
    quality is that of dot products if g is large enough for a query to attend to a single key.
"""

from typing import Annotated

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ablate.config.limits import Range
from ablate.model.attention.base import Keys, Queries
from ablate.model.attention.explicit import Explicit, Scores


class Cosine(Explicit):
    """Attention whose scores are a learned factor g times the cosine of query and key.

    Args:
        d_head: width of a head.
        dropout: dropout probability of the attention weights.
        scale: initial value of the learned factor by which cosines are multiplied.
        fill: output of a query whose keys are all masked: minus_inf (NaN) | large_negative (mean of
            all values) | zero_output (0).

    Raises:
        UserError: `fill` has another value.
    """

    def __init__(
        self, *, d_head: int, dropout: float, scale: Annotated[float, Range(0)], fill: str
    ) -> None:
        super().__init__(d_head=d_head, dropout=dropout, scale="none", fill=fill)
        self.divides_by_root = True  # cosines do not grow with the width of a head
        self.initial = scale
        self.strength = nn.Parameter(torch.tensor([float(scale)]))

    def draw_initial_values(self, parameter: Tensor, generator: torch.Generator | None) -> None:
        """Set the factor g to its initial value, in place."""
        nn.init.constant_(parameter, self.initial)

    def scores(self, q: Queries, k: Keys) -> Scores:
        """Return g times the cosine of each query and key."""
        # unused slots of a cache are 0; float16 would round torch's 1e-12 to 0, and 0 / 0 is NaN
        eps = max(1e-12, torch.finfo(q.dtype).tiny)
        cosines = F.normalize(q, dim=-1, eps=eps) @ F.normalize(k, dim=-1, eps=eps).mT
        return self.strength * cosines
