"""A linear layer that pads its input to 256 n rows, so that oneDNN reuses compiled kernels.

Equation: y = x W^T + b.
Source: torch.nn.Linear, with the same parameters and initial values.
What differs: in bfloat16 on a CPU, training pads inputs with zeros to a multiple of BLOCK rows.
    oneDNN compiles a kernel for every new shape, which takes longer than the product itself, and
    nearly every batch has a new number of tokens. With products=onednn, oneDNN also computes
    products of float32 (`ablate.model.product`).
What to expect: the results of torch.nn.Linear in less time.
"""

from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from ablate import hardware
from ablate.model.product import StackedLinear, is_by_onednn, stack

BLOCK = 256  # rows


class Linear(nn.Linear):
    """A linear map of the last dimension."""

    def forward(self, x: Float[Tensor, "*N D"]) -> Float[Tensor, "*N E"]:
        """Return x W^T + b."""
        return stacked_linear(x, [self.weight], self.bias)


def linear(
    x: Float[Tensor, "*N D"], weight: Float[Tensor, "E D"], bias: Float[Tensor, " E"] | None
) -> Float[Tensor, "*N E"]:
    """Return x weight^T + bias."""
    return stacked_linear(x, [weight], bias)


def stacked_linear(
    x: Float[Tensor, "*N D"],
    weights: Sequence[Float[Tensor, "_ D"]],
    bias: Float[Tensor, " E"] | None,
) -> Float[Tensor, "*N E"]:
    """Return x W^T + bias, where W concatenates the rows of all weights.

    A single matrix product computes the linear maps of all weights.
    """
    if torch.is_grad_enabled() and is_compiled(x):  # decoding has many small products
        return _apply(_Blocks, x, bias, stack(weights))
    if is_by_onednn(x) and hardware.uses_cpu_path(x.device):
        return _apply(StackedLinear, x, bias, *weights)
    return F.linear(x, stack(weights), bias)


def hooked_output(module: nn.Module, x: Tensor) -> Tensor | None:
    """Call a module if it has hooks, and return its output if the output must be used; else None.

    Some products are computed without calling the module that owns the weights, because that is
    faster. A hook that only looks leaves them as they are, so it changes no number. The output must
    be used if a hook has changed it, or if a hook of the backward pass needs its gradient.
    """
    backward = module._backward_hooks or module._backward_pre_hooks
    if not (backward or module._forward_hooks or module._forward_pre_hooks):
        return None
    output: Tensor = module(x)
    return output if backward or not torch.equal(output, module.forward(x)) else None


def _apply(
    product: type[torch.autograd.Function],
    x: Float[Tensor, "*N D"],
    bias: Float[Tensor, " E"] | None,
    *weights: Float[Tensor, "_ D"],
) -> Float[Tensor, "*N E"]:
    """Return the output of the autograd function `product`, in the shape of x except for the width.

    `product` receives x as a matrix with one row for each vector.
    """
    rows: Tensor = product.apply(x.reshape(-1, x.size(-1)), bias, *weights)  # type: ignore[no-untyped-call]
    return rows.view(*x.shape[:-1], rows.size(-1))


def remove_biases(module: nn.Module) -> None:
    """Remove the bias of every linear map in a module."""
    for part in module.modules():
        if isinstance(part, nn.Linear):
            part.register_parameter("bias", None)


def product_dtype(x: Tensor) -> torch.dtype:
    """Return the dtype in which torch multiplies x.

    This is the dtype of autocast if autocast is on, and the dtype of x otherwise.
    """
    device = x.device.type
    return torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else x.dtype


def to_product_dtype(x: Float[Tensor, "*N D"]) -> Float[Tensor, "*N D"]:
    """Return x in the dtype in which torch multiplies it; on a GPU, return x.

    In bf16-mixed precision on a CPU this halves the memory of the residual stream. On a GPU, every
    norm would have to cast the stream to float32 and back.
    """
    return x.to(product_dtype(x)) if hardware.uses_cpu_path(x.device) else x


def is_compiled(x: Tensor) -> bool:
    """Return whether oneDNN would compile a new kernel for the shape of x."""
    return hardware.uses_cpu_path(x.device) and product_dtype(x) == torch.bfloat16


def blocks(x: Float[Tensor, "N D"], dtype: torch.dtype, rows: int) -> Float[Tensor, "M D"]:
    """Return x in the given dtype, padded with rows of zeros to a multiple of `rows`."""
    n = len(x)
    missing = -n % rows
    if not missing:
        return x.to(dtype)
    whole = x.new_empty(n + missing, x.size(1), dtype=dtype)
    whole[:n] = x
    whole[n:] = 0
    return whole


class _Blocks(torch.autograd.Function):
    """A linear map, with its gradients, whose input is padded to a multiple of BLOCK rows."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, bias: Tensor | None, weight: Tensor) -> Tensor:
        dtype = product_dtype(x)
        rows, columns = blocks(x, dtype, BLOCK), weight.to(dtype)
        ctx.save_for_backward(rows, columns)
        ctx.dtypes = x.dtype, weight.dtype, None if bias is None else bias.dtype
        if bias is None:
            return (rows @ columns.T)[: len(x)]
        return torch.addmm(bias.to(dtype), rows, columns.T)[: len(x)]

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor | None, Tensor]:
        rows, columns = ctx.saved_tensors
        to_x, to_weight, to_bias = ctx.dtypes
        gradient = blocks(grads[0], rows.dtype, BLOCK)
        return (
            (gradient @ columns)[: len(grads[0])].to(to_x),
            None if to_bias is None else gradient.sum(0).to(to_bias),
            (gradient.T @ rows).to(to_weight),
        )
