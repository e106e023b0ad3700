"""Attention kernels that call torch's fused kernel."""

from typing import Annotated

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from ablate import process
from ablate.config.limits import Count, OneOf, Range
from ablate.errors import UserError
from ablate.model.attention import Bias, Kernel, Keys, Outputs, Queries, Values, with_more_keys
from ablate.model.attention.explicit import Explicit, Scale, scale_factor
from ablate.model.layers import Linear
from ablate.model.padding import Mask

ZeroFill = Annotated[str, OneOf(("zero_output",))]  # `model/attention=explicit` has other fills
FEW = 48  # number of keys up to which explicit attention is faster on a CPU


class Fused(Kernel):
    """Scaled dot-product attention by torch's fused kernel.

    Attention by torch.nn.functional.scaled_dot_product_attention.

    Equation: softmax(scale * q k^T) v, where masked keys have weight 0; zeros if every key is
        masked.
    Source: arXiv:1706.03762, section 3.2.1; memory-saving kernels: arXiv:2205.14135.
    What differs: nothing for queries that may attend to at least one key.
    What to expect: the results of explicit attention with fill=zero_output, with less memory on a
        GPU. On a CPU it *is* explicit attention in two cases: with dropout, for which torch has
        only a slow path of the same arithmetic, and with few keys, where two products and a softmax
        take less time.

    Args:
        d_head: width of a head.
        dropout: dropout probability of the attention weights.
        scale: divisor of the attention scores: sqrt_d_head | none | d_head | fourth_root_d_head |
            two_sqrt_d_head.
        fill: output of a query whose keys are all masked; fused kernels allow only zero_output (0).
    """

    def __init__(self, *, d_head: int, dropout: float, scale: Scale, fill: ZeroFill) -> None:
        super().__init__()
        self.scale = scale_factor(scale, d_head)
        self.d_head, self.rate = d_head, dropout
        self.explicit = Explicit(d_head=d_head, dropout=dropout, scale=scale, fill=fill)

    def reads_strided(self, n_keys: int, device: torch.device) -> bool:
        """Return whether torch's fused kernel computes the heads; it can read strided views.

        In all other cases explicit attention computes the heads, and needs contiguous copies.
        """
        drops = self.training and self.rate > 0
        return not ((drops or n_keys <= FEW) and process.uses_cpu_path(device))

    def forward(self, q: Queries, k: Keys, v: Values, mask: Mask, bias: Bias | None) -> Outputs:
        """Return, for each query and head, the weighted sum of the values."""
        if not self.reads_strided(k.size(2), q.device):
            return self.explicit(q, k, v, mask, bias)
        rate = self.rate if self.training else 0.0
        if mask.is_causal_alone and bias is None and q.size(2) == k.size(2):
            return F.scaled_dot_product_attention(
                q, k, v, None, rate, is_causal=True, scale=self.scale
            )
        keep = mask.dense(q.size(2), k.size(2), q.device)
        added: Tensor | None = None
        if bias is not None:
            added = bias if keep is None else bias.masked_fill(~keep, -torch.inf)
            added = added.to(q.dtype).expand(-1, -1, -1, k.size(2)).contiguous()
        elif keep is not None:
            added = mask.once(("added", q.dtype), lambda: self.blocked(keep, k.size(2), q.dtype))
        return F.scaled_dot_product_attention(q, k, v, added, rate, scale=self.scale)

    def blocked(
        self, keep: Bool[Tensor, "#B 1 #Q #K"], n_keys: int, dtype: torch.dtype
    ) -> Float[Tensor, "#B 1 #Q K"]:
        """Return 0 where a key is kept and minus infinity where it is masked.

        CUDA's kernels do not repeat a column of a mask for all keys.
        """
        keep = keep.expand(-1, -1, -1, n_keys)
        return torch.zeros_like(keep, dtype=dtype).masked_fill(~keep, -torch.inf)


Heads = Float[Tensor, "B H N E"]  # queries or keys


class QKNorm(Kernel):
    """Attention with normalised queries and keys (QK-norm).

    Fused attention with layer-normalised queries and keys.

    Equation: softmax(scale * norm(q) norm(k)^T) v. The norm is a layer norm over the width of a
        head, with a learned gain and no bias. Queries have one gain and keys have another; all
        heads share both.
    Source: arXiv:2302.05442, section 2 (ViT-22B); arXiv:2309.14322, section 3.1.1, on why it
        permits higher learning rates.
    What differs: positions that rotate queries and keys are applied before the norm. With rotary
        positions, scores therefore do not depend on the distance alone: the mean that the norm
        subtracts changes with the rotation, and the channels of a rotated pair have different
        gains. Most models with QK-norm and rotary positions rotate after the norm, as does
        `model/attention=qk_norm_first`. Unlike QK-norm, `model/attention=cosine` only divides
        queries and keys by their L2 norm, and learns the scale.
    What to expect: scores are bounded by the gains, so that attention does not collapse to one key
        at high learning rates; at the best learning rate the same loss.

    Args:
        d_head: width of a head.
        dropout: dropout probability of the attention weights.
        scale: divisor of the attention scores: sqrt_d_head | none | d_head | fourth_root_d_head |
            two_sqrt_d_head.
        fill: output of a query whose keys are all masked; fused kernels allow only zero_output (0).
        eps: small constant added to the variance before the division by its root.
    """

    suits_mup = False  # the norm undoes a factor of the queries

    def __init__(
        self,
        *,
        d_head: int,
        dropout: float,
        scale: Scale,
        fill: ZeroFill,
        eps: Annotated[float, Range(0)],
    ) -> None:
        super().__init__()
        self.fused = Fused(d_head=d_head, dropout=dropout, scale=scale, fill=fill)
        self.eps = eps
        self.query_gain = nn.Parameter(torch.ones(d_head))
        self.key_gain = nn.Parameter(torch.ones(d_head))

    def forward(self, q: Queries, k: Keys, v: Values, mask: Mask, bias: Bias | None) -> Outputs:
        """Return, for each query and head, the weighted sum of the values."""
        q, k = self.normal(q, self.query_gain), self.normal(k, self.key_gain)
        return self.fused(q, k, v, mask, bias)

    def normal(self, x: Heads, gain: Float[Tensor, " E"]) -> Heads:
        """Return queries or keys with mean 0 and variance 1, times a gain."""
        return F.layer_norm(x, gain.shape, gain, eps=self.eps).to(x.dtype)


class QKNormFirst(QKNorm):
    """QK-norm before the rotation: positions rotate the normalised queries and keys.

    Fused attention with queries and keys that are normalised before positions rotate them.

    Equation: softmax(scale * R_m norm(q) (R_n norm(k))^T) v, with the norm of
        `model/attention=qk_norm` and the rotation R_m of position m.
    Source: arXiv:2501.00656, section 3.1 (OLMo 2), which has RMSNorm in place of layer norm, and
        arXiv:2505.09388, section 2 (Qwen3).
    What differs: the norm is a layer norm with one gain for queries and one for keys, which all
        heads share. Without rotary positions, it is `model/attention=qk_norm`.
    What to expect: with rotary positions, scores depend on the distance of two tokens alone. With
        `model/attention=qk_norm`, the mean and the gain of the norm act on rotated channels, so
        that scores also depend on the positions themselves.

    The arguments are those of `QKNorm`.
    """

    suits_mup = True

    def prepare_queries(self, q: Queries) -> Queries:
        """Return the normalised queries."""
        return self.normal(q, self.query_gain)

    def prepare_keys(self, k: Keys) -> Keys:
        """Return the normalised keys."""
        return self.normal(k, self.key_gain)

    def forward(self, q: Queries, k: Keys, v: Values, mask: Mask, bias: Bias | None) -> Outputs:
        """Return, for each query and head, the weighted sum of the values."""
        return self.fused(q, k, v, mask, bias)


class Gated(Fused):
    """Attention with a sigmoid gate on its output.

    Fused attention whose outputs are multiplied by learned gates between 0 and 1.

    Equation: o = softmax(scale * q k^T) v, then sigmoid(W x + b) * o before the output projection.
        x is the input of the sub-layer; W maps d_model to all channels of all heads.
    Source: arXiv:2505.06708 (gated attention). Of the paper's variants, this is the gate after the
        softmax attention, elementwise and separate for each head.
    What differs: the gate has a bias, as the other linear maps here have. In cross-attention x is
        the decoder's token.
    What to expect: a lower loss, steadier training at high learning rates, and less attention to
        the first token. It adds d_model * n_heads * d_head parameters; to compare at equal size,
        reduce model.d_ff accordingly.

    Args:
        d_head: width of a head.
        dropout: dropout probability of the attention weights.
        scale: divisor of the attention scores: sqrt_d_head | none | d_head | fourth_root_d_head |
            two_sqrt_d_head.
        fill: output of a query whose keys are all masked; fused kernels allow only zero_output (0).
    """

    def join(self, *, d_model: int, n_heads: int, layer: int) -> None:
        """Create the linear map from tokens to the gates of all heads."""
        self.gate = Linear(d_model, n_heads * self.d_head)

    def finish(self, heads: Outputs, x: Float[Tensor, "B Q D"]) -> Outputs:
        """Return the outputs of the heads, each channel multiplied by its gate."""
        gates = torch.sigmoid(self.gate(x)).view(*x.shape[:2], heads.size(1), heads.size(3))
        return heads * gates.transpose(1, 2)


class Sink(Fused):
    """Attention sink: a learned key that every query may attend to, with a value of 0.

    Fused attention with one additional learned key for each head.

    Equation: weights = softmax(scale * q [k, s]^T) over the keys and one further key s, learned for
        each head; the output sums weights times values over the keys without s.
    Source: arXiv:2309.17453 (StreamingLLM), which trains with a learned token in front of every
        text, and compares it with a key and a value of 0.
    What differs: in the paper the learned token passes through all layers and has a value. Here
        each head of each layer has a learned key, initialised like any matrix. Under rotary
        positions the sink is at position 0.
    What to expect: a head that has nothing to attend to puts its weight on the sink instead of the
        first token; the loss hardly changes.

    Args:
        d_head: width of a head.
        dropout: dropout probability of the attention weights.
        scale: divisor of the attention scores: sqrt_d_head | none | d_head | fourth_root_d_head |
            two_sqrt_d_head.
        fill: output of a query whose keys are all masked; fused kernels allow only zero_output (0).
    """

    weights_are_probabilities = False
    weights_sum_below_one = True  # the weights of the keys sum to less than 1

    def join(self, *, d_model: int, n_heads: int, layer: int) -> None:
        """Create the learned key of each head."""
        self.sink = nn.Parameter(torch.empty(n_heads, self.d_head))

    def forward(self, q: Queries, k: Keys, v: Values, mask: Mask, bias: Bias | None) -> Outputs:
        """Return, for each query and head, the weighted sum of the values."""
        sink = self.sink[:, None].to(k.dtype).expand(len(k), -1, -1, -1)
        mask, bias = with_more_keys(q, k, mask, bias, behind=1)
        return super().forward(q, torch.cat([k, sink], 2), F.pad(v, (0, 0, 0, 1)), mask, bias)


class Window(Fused):
    """Sliding-window attention, with full attention in every n-th layer.

    Fused attention to the keys at most `width - 1` tokens from the query.

    Equation: query i attends to key j if |i - j| < width; under a causal mask these keys are the
        token itself and the width - 1 tokens before it. Every layer whose number, counted from 1,
        is a multiple of `global_every` has no window.
    Source: arXiv:2004.05150, section 3.1 (sliding windows); local and global layers in turn:
        arXiv:2503.19786 (Gemma 3: five local layers of 1,024 tokens for each global one).
    What differs: all layers use the same position option, whereas Gemma 3 has another rotary base
        in global layers. The window is a mask: scores outside are computed and thrown away.
        Cross-attention has no window, because source and target are numbered separately.
    What to expect: nearly the same loss if some layers have no window, or if there are enough
        layers for their windows together to reach far enough. This implementation saves no time or
        memory.

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
        UserError: no layer would have a window.
    """

    reads_positions = True

    def __init__(
        self,
        *,
        d_head: int,
        dropout: float,
        scale: Scale,
        fill: ZeroFill,
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
            mask = mask.once(self.width, lambda: self.window_mask(queries, keys, keep))
        mixed: Tensor = super().forward(q, k, v, mask, bias)
        return mixed

    def window_mask(
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
