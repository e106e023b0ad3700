"""Check outputs and gradients of attention implementations if all keys of a query are masked.

Equation: the softmax of a row of minus infinity is 0 / 0; the loss is the sum of all other rows.
Source: torch.softmax, torch.nn.functional.scaled_dot_product_attention and
    torch.nn.MultiheadAttention as installed, and the kernels of this project.
What differs: random queries, keys and values in float64; the last query of each sentence has no
    key.
What to expect: an explicit softmax gives NaN, also in gradients although the row is not used (0 x
    NaN); implementations that detect such rows give zeros or other numbers.
"""

from collections.abc import Callable

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional as F

from ablate.model.attention import Kernel
from ablate.model.attention.explicit import Explicit
from ablate.model.attention.fused import Fused
from ablate.model.padding import Mask
from ablate.model.transformer import Transformer
from experiments.shared.probe.draws import Measured, RandomModels

Attend = Callable[[Tensor], Tensor]
SENTENCES, HEADS, WIDTH = 2, 2, 8
IMPLEMENTATIONS = (
    *("softmax", "explicit_minus_inf", "explicit_large", "explicit_zero", "fused"),
    *("torch_function", "torch_weights", "torch_plain"),
)


class EmptyRows(RandomModels):
    """A probe that gives every implementation of attention one query whose keys are all masked; the
    model is ignored.
    """

    largest = tuple(
        f"{what}_{name}" for what in ("outputs", "gradients") for name in IMPLEMENTATIONS
    )

    def draw(self, model: Transformer, generator: torch.Generator) -> Measured:
        """Yield, for each implementation of attention, fractions of numbers that are not finite,
        for one set of random vectors.

        NAME is one of IMPLEMENTATIONS: an explicit softmax (softmax), this project's explicit
        kernel with three values of model.attention.fill (explicit_minus_inf, explicit_large,
        explicit_zero), this project's fused kernel (fused), torch's scaled_dot_product_attention
        (torch_function), and nn.MultiheadAttention in training mode, which returns attention
        weights (torch_weights) or no weights (torch_plain).

        Yields:
            outputs_NAME: fraction in the output of the query whose keys are all masked.
            gradients_NAME: fraction in the gradient of the sum of all other outputs with respect to
                the inputs.
        """
        width = HEADS * WIDTH
        x = torch.randn(SENTENCES, self.length, width, generator=generator).double()
        keep = torch.ones(self.length, self.length, dtype=torch.bool)
        keep[-1] = False
        for name, attend in implementations(keep, generator).items():
            read = x.clone().requires_grad_()
            with torch.enable_grad():
                out = attend(read)
                out[:, :-1].sum().backward()  # type: ignore[no-untyped-call]
            assert read.grad is not None
            for what, numbers in (("outputs", out[:, -1]), ("gradients", read.grad)):
                yield f"{what}_{name}", (~numbers.isfinite()).double().mean()


def implementations(
    keep: Bool[Tensor, "L L"], generator: torch.Generator
) -> dict[str, Callable[[Float[Tensor, "B L D"]], Tensor]]:
    """Return functions that compute self-attention, by the names in IMPLEMENTATIONS.

    `keep[q, k]` is true if query q may attend to key k.
    """
    made = {"d_head": WIDTH, "dropout": 0.0, "scale": "sqrt_d_head"}
    kernels = {
        "explicit_minus_inf": Explicit(**made, fill="minus_inf"),  # type: ignore[arg-type]
        "explicit_large": Explicit(**made, fill="large_negative"),  # type: ignore[arg-type]
        "explicit_zero": Explicit(**made, fill="zero_output"),  # type: ignore[arg-type]
        "fused": Fused(**made, fill="zero_output"),  # type: ignore[arg-type]
    }
    mask = Mask(pairs=keep[None, None])
    module = nn.MultiheadAttention(HEADS * WIDTH, HEADS, batch_first=True).double()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator))

    def by_kernel(kernel: Kernel) -> Attend:
        return lambda x: merged(kernel(split(x), split(x), split(x), mask, None))

    def by_torch(*, weights: bool) -> Attend:
        return lambda x: module(x, x, x, attn_mask=~keep, need_weights=weights)[0]

    def function(x: Tensor) -> Tensor:
        return merged(F.scaled_dot_product_attention(split(x), split(x), split(x), keep))

    def softmax(x: Tensor) -> Tensor:
        scores = (x @ x.mT * WIDTH**-0.5).masked_fill(~keep, -torch.inf)
        return scores.softmax(-1) @ x

    return {
        "softmax": softmax,
        **{name: by_kernel(kernel) for name, kernel in kernels.items()},
        "torch_function": function,
        "torch_weights": by_torch(weights=True),
        "torch_plain": by_torch(weights=False),
    }


def split(x: Float[Tensor, "B L D"]) -> Float[Tensor, "B H L E"]:
    """Split vectors into heads."""
    return x.view(*x.shape[:2], HEADS, WIDTH).transpose(1, 2)


def merged(x: Float[Tensor, "B H L E"]) -> Float[Tensor, "B L D"]:
    """Concatenate the vectors of all heads."""
    return x.transpose(1, 2).flatten(2)
