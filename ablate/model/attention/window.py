"""Sliding-window attention, with full attention in every n-th layer.

Equation: query i attends to key j if |i - j| < width; under a causal mask these keys are the token
    itself and the width - 1 tokens before it. Every layer whose number, counted from 1, is a
    multiple of `global_every` has no window.
Source: arXiv:2004.05150, section 3.1 (sliding windows); local and global layers in turn:
    arXiv:2503.19786 (Gemma 3: five local layers of 1,024 tokens for each global one).
What differs: all layers use the same position option, whereas Gemma 3 has another rotary base in
    global layers. The window is a mask: scores outside are computed and thrown away.
    Cross-attention has no window, because source and target are numbered separately.
What to expect: nearly the same loss if some layers have no window, or if there are enough layers
    for their windows together to reach far enough. This implementation saves no time or memory.
"""

from jaxtyping import Bool, Int
from torch import Tensor

from ablate.config.limits import Count
from ablate.errors import UserError
from ablate.model.attention.base import Bias, Keys, Outputs, Queries, Values
from ablate.model.attention.fused import Fused
from ablate.model.padding import Mask


class Window(Fused):
    """Fused attention to the keys at most `width - 1` tokens from the query.

    Args:
        d_head: width of a head.
        dropout: dropout probability of the attention weights.
        scale: divisor of the attention scores: sqrt_d_head | none | d_head | fourth_root_d_head |
            two_sqrt_d_head.
        fill: output of a query whose keys are all masked; fused kernels allow only zero_output (0).
        width: number of tokens that a query attends to on each side, its own token included.
        global_every: every layer whose number (from 1) is a multiple of this attends to all tokens;
            null: no layer does.

    Raises:
        UserError: `scale` or `fill` has another value, or no layer would have a window.
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
                "model.attention.global_every is 1, which leaves no layer with a window: set 2 or "
                "more, null for windows in all layers, or model/attention=fused"
            )
        self.width = width
        self.global_every = global_every
        self.local = True

    def join(self, *, d_model: int, n_heads: int, layer: int) -> None:
        """Decide, from the number of the layer, whether it has a window."""
        self.local = self.global_every is None or (layer + 1) % self.global_every != 0

    def check_context(self, tokens: int) -> None:
        """Raise UserError if the window is as long as the context and so would have no effect."""
        if self.width >= tokens:
            raise UserError(
                f"model.attention.width is {self.width}, and batch.context is {tokens}: a window "
                f"must be smaller than the context, at most {tokens - 1}"
            )

    def forward(self, q: Queries, k: Keys, v: Values, mask: Mask, bias: Bias | None) -> Outputs:
        """Return, for each query and head, the weighted sum of the values."""
        queries, keys = mask.query_positions, mask.key_positions
        if self.local and queries is not None and keys is not None:
            keep = mask.dense(q.size(2), k.size(2), q.device)
            mask = mask.once(self.width, lambda: self.near(queries, keys, keep))
        mixed: Tensor = super().forward(q, k, v, mask, bias)
        return mixed

    def near(
        self,
        queries: Int[Tensor, "#B Q"],
        keys: Int[Tensor, "#B K"],
        keep: Bool[Tensor, "#B 1 #Q #K"] | None,
    ) -> Mask:
        """Return a mask of the keys in the window, limited to the keys that `keep` allows."""
        near = ((queries[:, :, None] - keys[:, None]).abs() < self.width)[:, None]
        return Mask(pairs=near if keep is None else near & keep)

    def extra_repr(self) -> str:
        """Return the width of the window, or "everything" without a window, for printed models."""
        return f"width={self.width}" if self.local else "everything"
