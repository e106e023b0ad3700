"""Prefix tuning: in every attention, trained keys and values precede those of the tokens.

Equation: out = softmax(scale * q [P_k; k]^T) [P_v; v], where P_k and P_v have the shape "length
    d_head" for each head.
Source: arXiv:2101.00190, section 4.
What differs: the paper computes P by a network that is discarded after training; here P is trained
    directly, from normal values of standard deviation d_head^-0.5 (with muP base_head^-0.5, because
    keys and values do not shrink as heads grow). Cross-attention has a prefix, too. Rotary
    positions and position biases do not apply to P, and every query may attend to P.
What to expect: with pretrained weights, somewhat worse than LoRA, with fewer trained weights and a
    higher learning rate. From random weights, far worse. The random prefix changes the logits of
    the pretrained model at the start.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from ablate.adapt.base import Adapt
from ablate.config.limits import Count
from ablate.errors import UserError
from ablate.model.attention import (
    Bias,
    Kernel,
    Keys,
    Outputs,
    Queries,
    Values,
    with_more_keys,
)
from ablate.model.attention.multi_head import MultiHeadAttention
from ablate.model.base import Model
from ablate.model.padding import Mask
from ablate.model.parametrisation import parametrisation_of
from ablate.seeding import stream


class Prefix(Adapt):
    """An option that freezes the model and trains a prefix in every attention.

    A prefix consists of keys and values, which precede the keys and values of the tokens.

    Args:
        length: number of trained keys and values that precede those of the tokens in every
            attention.

    Raises:
        UserError: when called, the model has no attention, or has an attention kernel that cannot
            read additional keys.
    """

    starts_unchanged = False

    def __init__(self, *, length: Count) -> None:
        self.length = length

    def __call__(self, model: Model, seed: int) -> None:
        """Freeze the model, and add a prefix to every attention."""
        attentions = [(n, m) for n, m in model.named_modules() if isinstance(m, MultiHeadAttention)]
        if not attentions:
            raise UserError("adapt=prefix: this model has no attention to put a prefix into")
        model.requires_grad_(False)
        narrower = parametrisation_of(model).head_rate  # base_head / d_head with muP, else 1
        for name, attention in attentions:
            kernel = attention.kernel
            if not _takes_any_keys(kernel):
                raise UserError(
                    f"adapt=prefix: {name} is {type(kernel).__name__}, which cannot read a prefix: "
                    "choose another attention, such as model/attention=fused"
                )
            prefixed = Prefixed(kernel, attention.n_heads, self.length, attention.d_head)
            generator = torch.Generator().manual_seed(stream(seed, f"{name}.prefix"))
            prefixed.draw((narrower * attention.d_head) ** -0.5, generator)
            attention.kernel = prefixed


class Prefixed(Kernel):
    """An attention kernel that calls another kernel with additional trained keys and values."""

    has_shares = False  # the weights of the tokens sum to less than 1
    has_weights = False  # the values of the prefix are added

    def __init__(self, kernel: Kernel, n_heads: int, length: int, d_head: int) -> None:
        super().__init__()
        self.kernel = kernel
        self.keys, self.values = (
            nn.Parameter(torch.zeros(n_heads, length, d_head)) for _ in range(2)
        )

    @torch.no_grad()
    def draw(self, std: float, generator: torch.Generator) -> None:
        """Draw the initial values of the additional keys and values."""
        for parameter in (self.keys, self.values):
            parameter.normal_(std=std, generator=generator)

    def prepare_queries(self, q: Queries) -> Queries:
        """Return the queries as the wrapped kernel prepares them."""
        return self.kernel.prepare_queries(q)

    def prepare_keys(self, k: Keys) -> Keys:
        """Return the keys of the tokens as the wrapped kernel prepares them."""
        return self.kernel.prepare_keys(k)

    def finish(self, heads: Outputs, x: Float[Tensor, "B Q D"]) -> Outputs:
        """Return the result of the wrapped kernel's `finish` for the heads."""
        return self.kernel.finish(heads, x)

    def forward(self, q: Queries, k: Keys, v: Values, mask: Mask, bias: Bias | None) -> Outputs:
        """Return the result of the wrapped kernel for the prefix followed by the tokens.

        The prefix consists of the trained keys and values. `mask` and `bias` apply to the tokens
        only; every query may attend to the whole prefix.
        """
        mask, bias = with_more_keys(q, k, mask, bias, before=self.keys.size(1))
        k, v = (
            torch.cat([prefix.to(x.dtype).expand(len(x), -1, -1, -1), x], 2)
            for prefix, x in ((self.keys, k), (self.values, v))
        )
        mixed: Tensor = self.kernel(q, k, v, mask, bias)
        return mixed


def _takes_any_keys(kernel: Kernel) -> bool:
    own_state = type(kernel).cache is not Kernel.cache
    limited = kernel.longest is not None or kernel.reads_positions
    return kernel.has_shares and not limited and not own_state
