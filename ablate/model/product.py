"""Choose the library that multiplies float32 matrices on a CPU.

Equation: y = x W^T + b, and its gradients.
Source: torch.nn.functional.linear; oneDNN, the library behind torch's products in bfloat16.
What differs: torch computes float32 products with a BLAS library; in the official builds of torch
    it is Intel's MKL. MKL uses 512-bit kernels on Intel's processors alone: on an AMD EPYC with
    AVX-512 it reaches 105 GFLOP/s on one core, whereas oneDNN, which detects the features of the
    processor, reaches 230. torch has no setting for the choice, but it has an operator for oneDNN's
    product, which torch.compile uses too.
What to expect: with `onednn` the same results as with `blas` except for rounding; on Intel's
    processors about the same speed.
"""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from ablate.errors import UserError

_chosen = "blas"


def choose_products(library: str) -> None:
    """Choose the library that computes float32 products of this process on a CPU.

    Args:
        library: blas | onednn | auto; auto is onednn if this torch has it, else blas.

    Raises:
        UserError: this torch is built without oneDNN.
    """
    global _chosen  # noqa: PLW0603  # a setting of the process, like torch's number of threads
    if library == "onednn" and not has_onednn():
        raise UserError(
            "products=onednn needs a torch that is built with oneDNN, and this one is not: "
            "choose products=blas"
        )
    if library == "auto":
        library = "onednn" if has_onednn() else "blas"
    _chosen = library


def has_onednn() -> bool:
    """Return whether this torch has the products of oneDNN."""
    available: bool = torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
    return available and hasattr(torch.ops.mkldnn, "_linear_pointwise")


def is_by_onednn(x: Tensor) -> bool:
    """Return whether `choose_products` made oneDNN multiply x; x in bfloat16 returns False.

    In bfloat16 torch always uses oneDNN.
    """
    return _chosen == "onednn" and x.device.type == "cpu" and x.dtype == torch.float32


class OneDnnLinear(torch.autograd.Function):
    """A linear map whose forward product and two gradient products are computed by oneDNN."""

    @staticmethod
    def forward(
        ctx: Any, x: Float[Tensor, "N D"], weight: Float[Tensor, "E D"], bias: Tensor | None
    ) -> Float[Tensor, "N E"]:
        """Return x weight^T + bias."""
        ctx.save_for_backward(x, weight)
        ctx.biased = bias is not None
        return _times(x, weight, bias)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        """Return the gradients of the inputs that need one."""
        x, weight = ctx.saved_tensors
        gradient = grads[0].contiguous()
        to_x, to_weight, to_bias = ctx.needs_input_grad
        return (
            _times(gradient, weight.T) if to_x else None,
            _times(gradient.T, x.T) if to_weight else None,
            gradient.sum(0) if to_bias and ctx.biased else None,
        )


def _times(
    a: Float[Tensor, "N D"], b: Float[Tensor, "E D"], bias: Tensor | None = None
) -> Float[Tensor, "N E"]:
    """Return a b^T + bias."""
    if not (a.numel() and len(b)):  # oneDNN refuses empty tensors
        return torch.nn.functional.linear(a, b, bias)
    product: Tensor = torch.ops.mkldnn._linear_pointwise(a, b, bias, "none", [], "")
    return product
