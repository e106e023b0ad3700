"""The layers from which components are built, linear maps and dropout, with their code for CPUs:
which library computes the products, and how many operations they take.
"""

from collections.abc import Callable, Sequence
from typing import Annotated, Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.flop_counter import FlopCounterMode, sdpa_backward_flop_count, sdpa_flop_count

from ablate import process
from ablate.config.limits import Range
from ablate.errors import UserError

BLOCK = 256  # rows


class Linear(nn.Linear):
    """A linear map of the last dimension.

    Equation: y = x W^T + b.
    Source: torch.nn.Linear, with the same parameters and initial values.
    What differs: in bfloat16 on a CPU, training pads inputs with zeros to a multiple of BLOCK rows.
        oneDNN compiles a kernel for every new shape, which takes longer than the product itself,
        and nearly every batch has a new number of tokens. With products=onednn, oneDNN also
        computes products of float32 (`choose_products`).
    What to expect: the results of torch.nn.Linear in less time.
    """

    def forward(self, x: Float[Tensor, "*N D"]) -> Float[Tensor, "*N E"]:
        """Return x W^T + b."""
        return stacked_linear(x, [self.weight], self.bias)


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
    if is_by_onednn(x) and process.uses_cpu_path(x.device):
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
    return x.to(product_dtype(x)) if process.uses_cpu_path(x.device) else x


def is_compiled(x: Tensor) -> bool:
    """Return whether oneDNN would compile a new kernel for the shape of x."""
    return process.uses_cpu_path(x.device) and product_dtype(x) == torch.bfloat16


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


_chosen = "blas"


def choose_products(library: str) -> None:
    """Choose the library that computes float32 products of this process on a CPU.

    Equation: y = x W^T + b, and its gradients.
    Source: torch.nn.functional.linear; oneDNN, the library behind torch's products in bfloat16.
    What differs: torch computes float32 products with a BLAS library; in the official builds of
        torch it is Intel's MKL. MKL uses 512-bit kernels on Intel's processors alone: on an AMD
        EPYC with AVX-512 it reaches 105 GFLOP/s on one core, whereas oneDNN, which detects the
        features of the processor, reaches 230. torch has no setting for the choice, but it has an
        operator for oneDNN's product, which torch.compile uses too.
    What to expect: with `onednn` the same results as with `blas` except for rounding; on Intel's
        processors about the same speed. On an AMD EPYC without AVX-512, MKL is faster: 80 to 89
        GFLOP/s on one core, and oneDNN 55 to 87.

    Args:
        library: blas | onednn | auto; auto is blas if the widest vector instructions are AVX2 or
            this torch lacks oneDNN, else onednn.

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
        avx2_at_most = torch.backends.cpu.get_cpu_capability() == "AVX2"
        library = "onednn" if has_onednn() and not avx2_at_most else "blas"
    _chosen = library


def has_onednn() -> bool:
    """Return whether this torch has the products of oneDNN."""
    available: bool = torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
    return available and hasattr(torch.ops.mkldnn, "_linear_pointwise")


def is_by_onednn(x: Tensor) -> bool:
    """Return whether oneDNN multiplies x because `choose_products` has chosen it.

    The result is True only for float32 on a CPU. It is False for bfloat16, although torch always
    multiplies bfloat16 by oneDNN.
    """
    return _chosen == "onednn" and x.device.type == "cpu" and x.dtype == torch.float32


class StackedLinear(torch.autograd.Function):
    """A linear map by oneDNN, whose weight matrix concatenates the rows of several weights.

    Each pass concatenates the weights anew, so that no copy of them is stored between the passes.
    """

    @staticmethod
    def forward(
        ctx: Any, x: Float[Tensor, "N D"], bias: Tensor | None, *weights: Float[Tensor, "_ D"]
    ) -> Float[Tensor, "N E"]:
        """Return x W^T + bias for the stacked weights W."""
        ctx.save_for_backward(x, *weights)
        ctx.biased = bias is not None
        return _times(x, stack(weights), bias)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradients of x, bias and weights; None for an input that needs no gradient."""
        x, *weights = ctx.saved_tensors
        gradient = grads[0].contiguous()
        to_x, to_bias, *to_weights = ctx.needs_input_grad
        of_x = _times(gradient, stack(weights).T) if to_x else None
        of_bias = gradient.sum(0) if to_bias and ctx.biased else None
        rows = [len(weight) for weight in weights]
        of_weights = (
            torch.split(_outer(gradient, x), rows) if any(to_weights) else [None] * len(rows)
        )
        return of_x, of_bias, *of_weights


def _outer(a: Float[Tensor, "N E"], b: Float[Tensor, "N D"]) -> Float[Tensor, "E D"]:
    """Return a^T b.

    oneDNN would copy the transposed first operand. If b is the smaller matrix, this function
    therefore computes (b^T a)^T.
    """
    if b.size(1) < a.size(1):
        return _times(b.T, a.T).T
    return _times(a.T, b.T)


def stack(weights: Sequence[Float[Tensor, "_ D"]]) -> Float[Tensor, "E D"]:
    """Return a matrix with the rows of all weights; a single weight is returned without a copy."""
    return weights[0] if len(weights) == 1 else torch.cat(list(weights))


def _times(
    a: Float[Tensor, "N D"], b: Float[Tensor, "E D"], bias: Tensor | None = None
) -> Float[Tensor, "N E"]:
    """Return a b^T + bias, computed by oneDNN."""
    if not (a.numel() and len(b)):  # oneDNN refuses empty tensors
        return torch.nn.functional.linear(a, b, bias)
    product: Tensor = torch.ops.mkldnn._linear_pointwise(a, b, bias, "none", [], "")
    return product


Shape = torch.Size


def _linear_flops(x: Shape, weight: Shape, *_others: Any, **_kwargs: Any) -> int:
    return 2 * x.numel() * weight[0]


def _attention_flops(q: Shape, k: Shape, v: Shape, *_others: Any, **_kwargs: Any) -> int:
    return int(sdpa_flop_count(q, k, v))  # type: ignore[no-untyped-call]


def _attention_backward_flops(
    gradient: Shape, q: Shape, k: Shape, v: Shape, *_others: Any, **_kwargs: Any
) -> int:
    return int(sdpa_backward_flop_count(gradient, q, k, v))  # type: ignore[no-untyped-call]


# operators that torch's counter omits, with their numbers of operations by the shapes of arguments
PRODUCTS: dict[Any, Callable[..., int]] = {
    torch.ops.aten._scaled_dot_product_flash_attention_for_cpu: _attention_flops,
    torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward: _attention_backward_flops,
}
if has_onednn():
    PRODUCTS[torch.ops.mkldnn._linear_pointwise] = _linear_flops


def product_counter() -> FlopCounterMode:
    """Return a context manager that counts the floating-point operations of the matrix products in
    its block, forward and backward.

    Equation: 2 n m k for the product of an n x m and an m x k matrix: a multiplication and an
        addition for each term. A head of fused attention with n queries and m keys of width d
        counts as two products, 4 n m d. Its backward pass counts as five products, 10 n m d: one
        computes the scores again, and four the gradients. Masked positions are counted, so causal
        attention counts as much as attention to all positions.
    Source: torch.utils.flop_counter.
    What differs: torch's counter omits two kernels of CPUs: the linear map of oneDNN
        and fused attention. This counter includes both.
    What to expect: the same numbers for every library of `choose_products`. Kernels of recurrent
        layers are not counted.

    Its method `get_total_flops` returns the count.
    """
    return FlopCounterMode(display=False, custom_mapping=PRODUCTS)


DECISIONS = {1 << 8: torch.int8, 1 << 16: torch.int16}  # number of possible rates: dtype
TOLERANCE = 0.02  # largest relative error of the rate and of the fraction of kept values
Rate = Annotated[float, Range(0, 0.99)]  # dropout of 1 would leave nothing


class Dropout(nn.Module):
    """A layer that zeroes each value with probability `rate` while training.

    Equation: y = x * mask / (1 - p), where each entry of the mask is 0 with probability p, else 1.
    Source: arXiv:1207.0580.
    What differs: on a CPU, one random number of 64 bits decides about eight entries, so p is
        rounded to a multiple of 1/256 (0.1 to 0.1016). If this would change p by more than 2 %, p
        is rounded to a multiple of 1/65536, and one random number decides about four entries. Kept
        values are divided by 1 - p with the rounded p. torch draws a number for each entry, which
        takes longer than the matrix products of a small model.
    What to expect: the same distribution as torch's dropout, but other masks for the same seed.
    """

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate
        self.cut, self.levels = rounded(rate)

    def forward(self, x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
        """Return x; in training, some values are set to 0 and all other values are scaled up."""
        if not self.training or self.rate == 0:
            return x
        if not process.uses_cpu_path(x.device):
            return F.dropout(x, self.rate)
        dropped: Tensor = _Masked.apply(x, self.cut, self.levels)  # type: ignore[no-untyped-call]
        return dropped

    def extra_repr(self) -> str:
        """Return the rate and its rounded value on a CPU, for printed models."""
        return f"rate={self.rate} ({self.cut}/{self.levels} on a CPU)"


def rounded(rate: float) -> tuple[int, int]:
    """Return (cut, levels) with the fewest levels such that cut / levels is close to the rate.

    `levels` is 256 or 65536, the number of values of a random integer; a value below `cut` means
    "drop".
    """
    for levels in DECISIONS:
        cut = min(round(rate * levels), levels - 1)
        if abs(cut - rate * levels) <= TOLERANCE * min(rate, 1 - rate) * levels:
            break
    return cut, levels


class _Masked(torch.autograd.Function):
    """An autograd function that multiplies a tensor by a random mask and rescales the kept values.

    The dropout probability is `cut` divided by `levels`, two integers that `forward` receives
    beside the tensor.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, cut: int, levels: int) -> Tensor:
        decision = DECISIONS[levels]
        count = -(-x.numel() * decision.itemsize // 8)
        numbers = torch.empty(count, dtype=torch.int64).random_(-(2**63), None)
        decisions = numbers.view(decision)[: x.numel()].view(x.shape)
        mask = torch.ge(decisions, cut - levels // 2, out=torch.empty_like(x))
        mask.mul_(levels / (levels - cut))
        ctx.save_for_backward(mask)
        return x * mask

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:
        (mask,) = ctx.saved_tensors
        return grads[0] * mask, None, None
