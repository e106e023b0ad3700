"""Linformer: attention to a fixed number of linear combinations of keys and values.

Equation: softmax(scale * q (E k)^T) F v, with learned matrices E and F of `rank` rows and
    `max_length` columns; n keys use the first n columns.
Source: arXiv:2006.04768, section 4, equation 7.
What differs: heads share E and F, and each layer has its own; keys and values at padding are set to
    0 before the projection. Initial values are Xavier uniform; the proof of the paper's theorem 1
    assumes variance 1 / rank.
What to expect: memory and time linear in the number of keys. Each linear combination contains
    tokens of the whole sequence, so there is no causal form.
"""

import torch
from torch import Tensor, nn

from ablate.config.limits import Count
from ablate.errors import UserError
from ablate.model.attention.base import Bias, Keys, Outputs, Queries, Values
from ablate.model.attention.explicit import Explicit
from ablate.model.padding import Mask


class Linformer(Explicit):
    """Attention to projections of keys and values along the sequence.

    Args:
        d_head: width of a head.
        dropout: dropout probability of the attention weights.
        scale: divisor of the attention scores: sqrt_d_head | none | d_head | fourth_root_d_head |
            two_sqrt_d_head.
        rank: number of linear combinations that replace the keys and values of a sequence.
        max_length: maximum number of tokens in a sequence, EOS or BOS counted.

    Raises:
        UserError: `scale` has another value.
    """

    has_shares = False
    keeps_pairs = False
    without_scores = "linformer"

    def __init__(
        self, *, d_head: int, dropout: float, scale: str, rank: Count, max_length: Count
    ) -> None:
        super().__init__(d_head=d_head, dropout=dropout, scale=scale, fill="zero_output")
        self.longest = max_length
        self.key_mixtures = nn.Parameter(torch.empty(rank, max_length))
        self.value_mixtures = nn.Parameter(torch.empty(rank, max_length))

    def draw_initial_values(self, parameter: Tensor, generator: torch.Generator | None) -> None:
        """Fill E or F in place with Xavier uniform values.

        E combines the keys, and F the values, of all positions.
        """
        nn.init.xavier_uniform_(parameter, generator=generator)

    def check(self, *, causal: bool, biased: bool) -> None:
        """Raise UserError for a causal mask, and for positions that add a bias to the scores."""
        if causal:
            raise UserError(
                "model/attention=linformer mixes keys of all positions, so that the causal mask "
                "of the decoder cannot hide later ones: choose it for the other attentions, by "
                "model/attention@model.encoder.attention=linformer or "
                "model/attention@model.cross.attention=linformer"
            )
        super().check(causal=causal, biased=biased)

    def forward(self, q: Queries, k: Keys, v: Values, mask: Mask, bias: Bias | None) -> Outputs:
        """Return, for each query and head, the weighted sum of the projected values.

        Raises:
            UserError: a key beyond the first `max_length` keys is not padding.
        """
        reading, writing = mask.sides(q.size(2), k.size(2), q.device)
        n = min(k.size(2), self.key_mixtures.size(1))
        if n < k.size(2) and writing[:, :, n:].any():
            raise UserError(
                f"a sequence of {k.size(2)} tokens does not fit model.attention.max_length={n}: "
                "set it to the longest sequence, or choose another model/attention"
            )
        keys, values = (
            mixtures[:, :n] @ (x * writing)[:, :, :n]
            for mixtures, x in ((self.key_mixtures, k), (self.value_mixtures, v))
        )
        return super().forward(q, keys, values, Mask(), None) * reading
