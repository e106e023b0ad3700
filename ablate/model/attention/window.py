"""Attention to neighbours, with layers between that see everything.

Equation: query i attends to key j where |i - j| < width; under a causal mask these are the token
    itself and the width - 1 before it. Every layer whose number, counted from 1, is a multiple of
    `global_every` has no window.
Source: arXiv:2004.05150, section 3.1 (sliding windows); local and global layers in turn:
    arXiv:2503.19786 (Gemma 3: five local layers of 1,024 tokens for each global one).
What differs: positions are the same in all layers, where Gemma 3 gives global ones another base of
    rotations. The window is a mask: scores outside are computed and thrown away. Cross-attention,
    whose two sides are numbered apart, has no window.
What to expect: hardly another loss while some layers see everything, or while layers are so many
    that windows on windows reach far enough; no other time or memory here.
"""

from jaxtyping import Float
from torch import Tensor

from ablate.config.limits import Count
from ablate.errors import UserError
from ablate.model.attention.fused import Fused
from ablate.model.padding.base import Mask


class Window(Fused):
    """Fused attention to the keys near a query.

    Args:
        d_head: width of a head.
        dropout: probability on the weights.
        scale: sqrt_d_head | none | d_head | fourth_root_d_head | two_sqrt_d_head, the divisor of
            the scores.
        fill: zero_output, which is what torch's kernels do with a fully masked row.
        width: tokens that a query reads on one side, itself counted.
        global_every: every so many layers one sees everything; null: none does.

    Raises:
        UserError: another scale or fill, or no layer with a window.
    """

    reads_positions = True

    def __init__(
        self,
        *,
        d_head: int,
        dropout: float,
        scale: str,
        fill: str,
        width: Count,
        global_every: Count | None,
    ) -> None:
        super().__init__(d_head=d_head, dropout=dropout, scale=scale, fill=fill)
        if global_every == 1:
            raise UserError(
                "model.attention.global_every is 1, which leaves no layer with a window: say 2 or "
                "more, null for windows in all layers, or model/attention=fused"
            )
        self.width = width
        self.global_every = global_every
        self.local = True

    def join(self, *, d_model: int, n_heads: int, layer: int) -> None:
        """Decide whether this layer has a window."""
        self.local = self.global_every is None or (layer + 1) % self.global_every != 0

    def check_context(self, tokens: int) -> None:
        """Raise UserError for a window that holds every context."""
        if self.width >= tokens:
            raise UserError(
                f"model.attention.width is {self.width}, and batch.context is {tokens}: a window "
                f"must be smaller than the context, at most {tokens - 1}"
            )

    def forward(
        self,
        q: Float[Tensor, "B H Q E"],
        k: Float[Tensor, "B H K E"],
        v: Float[Tensor, "B H K W"],
        mask: Mask,
        bias: Float[Tensor, "#B #H #Q #K"] | None,
    ) -> Float[Tensor, "B H Q W"]:
        """Return the mixed values."""
        queries, keys = mask.query_positions, mask.key_positions
        if self.local and queries is not None and keys is not None:
            near = (queries[:, :, None] - keys[:, None]).abs() < self.width
            keep = mask.dense(q.size(2), k.size(2), q.device)
            mask = Mask(pairs=near[:, None] if keep is None else near[:, None] & keep)
        mixed: Tensor = super().forward(q, k, v, mask, bias)
        return mixed

    def extra_repr(self) -> str:
        """The window of this layer."""
        return f"width={self.width}" if self.local else "everything"
