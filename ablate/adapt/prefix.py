"""Prefix tuning: keys and values that every attention finds before those of the tokens.

Equation: out = softmax(scale * q [P_k; k]^T) [P_v; v], P_k and P_v "length d_head" for each head.
Source: arXiv:2101.00190, section 4.
What differs: the paper makes P by a network that it throws away after training; here P itself
    trains, from normal values of standard deviation d_head^-0.5, and cross-attention has one too.
    Positions do not turn P, and biases of positions do not reach it; every query sees it.
What to expect: with pretrained weights and a fraction of the trained weights of LoRA, somewhat
    below it; it wants a higher rate. From random weights far below everything. The first step
    starts from other logits than those of the model.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from ablate.adapt.base import Adapt
from ablate.config.limits import Count
from ablate.errors import UserError
from ablate.model.attention.base import Kernel
from ablate.model.attention.multi_head import MultiHeadAttention
from ablate.model.base import Model
from ablate.model.padding.base import Mask
from ablate.seeding import stream


class Prefix(Adapt):
    """Trains a prefix for every attention, and nothing else.

    Args:
        length: keys of a prefix.

    Raises:
        UserError: when called, the model has no attention, or one without weights of single keys.
    """

    starts_unchanged = False

    def __init__(self, *, length: Count) -> None:
        self.length = length

    def __call__(self, model: Model, seed: int) -> None:
        """Freeze the model, and put the prefixes in front of its keys and values."""
        found = [(n, m) for n, m in model.named_modules() if isinstance(m, MultiHeadAttention)]
        if not found:
            raise UserError("adapt=prefix: this model has no attention to put a prefix into")
        model.requires_grad_(False)
        for name, attention in found:
            kernel = attention.kernel
            if not _takes_any_keys(kernel):
                raise UserError(
                    f"adapt=prefix: {name} is {type(kernel).__name__}, which does not weigh keys "
                    "one by one: choose model/attention=fused or another softmax"
                )
            prefixed = Prefixed(kernel, attention.n_heads, self.length, attention.d_head)
            prefixed.draw(torch.Generator().manual_seed(stream(seed, f"{name}.prefix")))
            attention.kernel = prefixed


class Prefixed(Kernel):
    """A kernel with more keys than there are tokens."""

    has_shares = False  # the tokens share what the prefix leaves

    def __init__(self, kernel: Kernel, n_heads: int, length: int, d_head: int) -> None:
        super().__init__()
        self.kernel = kernel
        self.keys, self.values = (
            nn.Parameter(torch.zeros(n_heads, length, d_head)) for _ in range(2)
        )

    @torch.no_grad()
    def draw(self, generator: torch.Generator) -> None:
        """Draw the initial values."""
        for parameter in (self.keys, self.values):
            parameter.normal_(std=parameter.size(2) ** -0.5, generator=generator)

    def finish(
        self, heads: Float[Tensor, "B H Q W"], x: Float[Tensor, "B Q D"]
    ) -> Float[Tensor, "B H Q W"]:
        """Return what the kernel makes of the heads."""
        return self.kernel.finish(heads, x)

    def forward(
        self,
        q: Float[Tensor, "B H Q E"],
        k: Float[Tensor, "B H K E"],
        v: Float[Tensor, "B H K E"],
        mask: Mask,
        bias: Float[Tensor, "#B #H #Q #K"] | None,
    ) -> Float[Tensor, "B H Q E"]:
        """Return the mixed values of prefix and tokens."""
        room = (self.keys.size(1), 0)
        pairs = mask.dense(q.size(2), k.size(2), q.device)
        if pairs is not None:
            pairs = F.pad(pairs.expand(-1, -1, -1, k.size(2)), room, value=True)
        if bias is not None:
            bias = F.pad(bias.expand(-1, -1, -1, k.size(2)), room)
        k, v = (
            torch.cat([prefix.to(x.dtype).expand(len(x), -1, -1, -1), x], 2)
            for prefix, x in ((self.keys, k), (self.values, v))
        )
        mixed: Tensor = self.kernel(q, k, v, Mask(pairs=pairs), bias)
        return mixed


def _takes_any_keys(kernel: Kernel) -> bool:
    own_state = type(kernel).cache is not Kernel.cache
    limited = kernel.longest is not None or kernel.reads_positions
    return kernel.has_shares and not limited and not own_state
