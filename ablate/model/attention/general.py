"""Scores by a bilinear form.

Equation: score(q, k) = scale * q W k^T; weights = softmax(score).
Source: arXiv:1508.04025, section 3.1 ("general").
What differs: there q and k are states of the networks; here they are projections already, so that
    W adds parameters and nothing that the projections could not do. Heads share W.
What to expect: divided as dot products are (general_divided), their results from another start.
    Undivided, as in the source, scores of projections begin so large that a model may learn
    nothing at the rate of the others.
"""

from jaxtyping import Float
from torch import Tensor, nn

from ablate.model.attention.base import Kernel
from ablate.model.attention.explicit import Explicit
from ablate.model.padding.base import Mask


class General(Kernel):
    """A softmax of q W k.

    Args:
        d_head: width of a head.
        dropout: probability on the weights.
        scale: sqrt_d_head | none | d_head | fourth_root_d_head | two_sqrt_d_head, the divisor of
            the scores.
        fill: minus_inf | large_negative | zero_output, the treatment of masked scores.

    Raises:
        UserError: another scale or fill.
    """

    def __init__(self, *, d_head: int, dropout: float, scale: str, fill: str) -> None:
        super().__init__()
        self.softmax = Explicit(d_head=d_head, dropout=dropout, scale=scale, fill=fill)
        self.form = nn.Linear(d_head, d_head, bias=False)

    def forward(
        self,
        q: Float[Tensor, "B H Q E"],
        k: Float[Tensor, "B H K E"],
        v: Float[Tensor, "B H K W"],
        mask: Mask,
        bias: Float[Tensor, "#B #H #Q #K"] | None,
    ) -> Float[Tensor, "B H Q W"]:
        """Return the mixed values."""
        return self.softmax(q, self.form(k), v, mask, bias)
