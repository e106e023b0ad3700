"""Is a stack of attention layers a linear map of its tokens?

Equation: the norm of f(x + y) - f(x) - f(y) + f(0), over that of f(x + y) - f(0); with f(0) so
    that biases do not count. `frozen` computes it with the attention weights that x has.
Source: none; the definition of an affine map.
What differs: tokens are random vectors in float64 in place of embeddings, and the encoder alone
    is looked at.
What to expect: attention is linear in its values, so frozen weights without norms and feed-forward
    layers give rounding errors; computed weights are a softmax of products of tokens, which is not
    linear, nor is a norm.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from ablate.claims.probe.random_models import RandomModels
from ablate.model.attention.base import Kernel
from ablate.model.inspect import weights_of
from ablate.model.stack import Stack
from ablate.model.transformer import Transformer


class Additivity(RandomModels):
    """Adds two random sentences, before the encoder and after it, under random weights."""

    measures = ("computed", "frozen", "behind_relu")

    @torch.no_grad()
    def __call__(self, model: Transformer) -> dict[str, float]:
        """Return errors of additivity: the largest of the draws, of the control the smallest.

        computed: attention weights follow from the tokens, as ever; frozen: they stay as the first
        sentence has them; behind_relu: frozen, and a ReLU at the end of the stack, the control.
        """
        found = [self.draw(drawn.encoder, generator) for drawn, generator in self.models(model)]
        computed, frozen, behind_relu = zip(*found, strict=True)
        return {"computed": max(computed), "frozen": max(frozen), "behind_relu": min(behind_relu)}

    def draw(self, encoder: Stack, generator: torch.Generator) -> tuple[float, float, float]:
        """Return the errors for one pair of sentences."""
        shape = (2, 1, self.length, encoder.d_model)
        x, y = torch.randn(shape, generator=generator, dtype=torch.float64)
        real = torch.ones(1, self.length, dtype=torch.bool)

        def outputs() -> list[Tensor]:
            return [encoder(tokens, real) for tokens in (x + y, x, y, torch.zeros_like(x))]

        computed = error(*outputs())
        with frozen_weights(encoder, x):
            fixed = outputs()
        return computed, error(*fixed), error(*(tokens.relu() for tokens in fixed))


def error(both: Tensor, x: Tensor, y: Tensor, zero: Tensor) -> float:
    """Return the relative error of additivity of an affine map's outputs."""
    return float((both - x - y + zero).norm() / (both - zero).norm())


@contextmanager
def frozen_weights(encoder: Stack, x: Float[Tensor, "B L D"]) -> Iterator[None]:
    """Let every attention keep the weights that it has on x."""
    kernels = [module for module in encoder.modules() if isinstance(module, Kernel)]
    weights: dict[Kernel, Tensor] = {}

    def note(kernel: Kernel, inputs: tuple[Any, ...], output: Tensor) -> None:
        weights[kernel] = weights_of(kernel, *inputs)

    def mix(kernel: Kernel, inputs: tuple[Any, ...], output: Tensor) -> Tensor:
        values: Tensor = inputs[2]
        return weights[kernel] @ values

    noting = [kernel.register_forward_hook(note) for kernel in kernels]
    encoder(x, torch.ones(x.shape[:2], dtype=torch.bool))
    for handle in noting:
        handle.remove()
    mixing = [kernel.register_forward_hook(mix) for kernel in kernels]
    try:
        yield
    finally:
        for handle in mixing:
            handle.remove()
