"""QK-norm before the rotation: positions rotate the normalised queries and keys.

Equation: softmax(scale * R_m norm(q) (R_n norm(k))^T) v, with the norm of `model/attention=qk_norm`
    and the rotation R_m of position m.
Source: arXiv:2501.00656, section 3.1 (OLMo 2), which has RMSNorm in place of layer norm, and
    arXiv:2505.09388, section 2 (Qwen3).
What differs: the norm is a layer norm with one gain for queries and one for keys, which all heads
    share. Without rotary positions, it is `model/attention=qk_norm`.
What to expect: with rotary positions, scores depend on the distance of two tokens alone. With
    `model/attention=qk_norm`, the mean and the gain of the norm act on rotated channels, so that
    scores also depend on the positions themselves.
"""

from ablate.model.attention.base import Bias, Keys, Outputs, Queries, Values
from ablate.model.attention.qk_norm import QKNorm
from ablate.model.padding import Mask


class QKNormFirst(QKNorm):
    """Fused attention with queries and keys that are normalised before positions rotate them.

    The arguments are those of `QKNorm`.
    """

    divides_by_root = True

    def prepare_queries(self, q: Queries) -> Queries:
        """Return the normalised queries."""
        return self.normal(q, self.query_gain)

    def prepare_keys(self, k: Keys) -> Keys:
        """Return the normalised keys."""
        return self.normal(k, self.key_gain)

    def forward(self, q: Queries, k: Keys, v: Values, mask: Mask, bias: Bias | None) -> Outputs:
        """Return, for each query and head, the weighted sum of the values."""
        return self.fused(q, k, v, mask, bias)
