"""Check whether a stack of attention layers is a linear map of its tokens.

Equation: the norm of f(x + y) - f(x) - f(y) + f(0), over that of f(x + y) - f(0); f(0) removes
    biases. `frozen` uses the attention weights of x in all terms.
Source: none; the definition of an affine map.
What differs: tokens are random vectors in float64 rather than embeddings; only the encoder is used.
What to expect: attention is linear in its values, so with frozen weights and without norms and
    feed-forward layers, only rounding errors remain; computed weights and norms are not linear.
"""

from contextlib import AbstractContextManager
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from ablate.model.attention import Kernel, weights_of
from ablate.model.stack import Stack
from ablate.model.transformer import Transformer
from experiments.shared.measure.kernels import hooked
from experiments.shared.probe.draws import Measured, RandomModels


class Additivity(RandomModels):
    """A probe that compares the encoder's output for the sum of two random sentences with the sum
    of its outputs.
    """

    largest = ("computed", "frozen")
    smallest = ("behind_relu",)

    def draw(self, model: Transformer, generator: torch.Generator) -> Measured:
        """Yield how far the encoder f is from being additive, that is, the relative error of
        f(x + y) = f(x) + f(y) - f(0), where x and y are random vectors of a sentence.

        Yields:
            computed: the error, if every input has its own attention weights.
            frozen: the error, if the attention weights for x are used for all inputs.
            behind_relu: the error, if additionally a ReLU follows the encoder. This is a control:
                it must be large, because a ReLU is not additive.
        """
        encoder = model.encoder
        shape = (2, 1, self.length, encoder.d_model)
        x, y = torch.randn(shape, generator=generator, dtype=torch.float64)
        real = torch.ones(1, self.length, dtype=torch.bool)

        def outputs() -> list[Tensor]:
            return [encoder(tokens, real) for tokens in (x + y, x, y, torch.zeros_like(x))]

        yield "computed", error(*outputs())
        with frozen_weights(encoder, x):
            fixed = outputs()
        yield "frozen", error(*fixed)
        yield "behind_relu", error(*(tokens.relu() for tokens in fixed))


def error(both: Tensor, x: Tensor, y: Tensor, zero: Tensor) -> Tensor:
    """Return the relative error of additivity, |f(x + y) - f(x) - f(y) + f(0)| / |f(x + y) - f(0)|,
    given the outputs of a map f for x + y (`both`), x, y and 0.
    """
    return (both - x - y + zero).norm() / (both - zero).norm()


def frozen_weights(encoder: Stack, x: Float[Tensor, "B L D"]) -> AbstractContextManager[None]:
    """Fix the weights of every attention module of an encoder, within a `with` block, to the
    attention weights that the encoder computes for the input x.
    """
    kernels = [module for module in encoder.modules() if isinstance(module, Kernel)]
    weights: dict[Kernel, Tensor] = {}

    def note(kernel: Kernel, inputs: tuple[Any, ...], output: Tensor) -> None:
        weights[kernel] = weights_of(kernel, *inputs)

    def mix(kernel: Kernel, inputs: tuple[Any, ...], output: Tensor) -> Tensor:
        values: Tensor = inputs[2]
        return weights[kernel] @ values

    with hooked(kernels, note):
        encoder(x, torch.ones(x.shape[:2], dtype=torch.bool))
    return hooked(kernels, mix)
