"""Count the floating-point operations in the matrix products of a computation.

Equation: 2 n m k for the product of an n x m and an m x k matrix: a multiplication and an addition
    for each term. A head of fused attention with n queries and m keys of width d counts as two
    products, 4 n m d. Its backward pass counts as five products, 10 n m d: one computes the scores
    again, and four the gradients. Masked positions are counted, so causal attention counts as much
    as attention to all positions.
Source: torch.utils.flop_counter.
What differs: torch's counter omits two kernels of CPUs: the linear map of oneDNN
    (`ablate.model.product`) and fused attention. This counter includes both.
What to expect: the same numbers for every library of `choose_products`. Kernels of recurrent layers
    are not counted.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch.utils.flop_counter import FlopCounterMode, sdpa_backward_flop_count, sdpa_flop_count

from ablate.model.product import has_onednn

Shape = torch.Size


def _linear(x: Shape, weight: Shape, *_others: Any, **_named: Any) -> int:
    return 2 * x.numel() * weight[0]


def _attention(q: Shape, k: Shape, v: Shape, *_others: Any, **_named: Any) -> int:
    return int(sdpa_flop_count(q, k, v))  # type: ignore[no-untyped-call]


def _attention_backward(
    gradient: Shape, q: Shape, k: Shape, v: Shape, *_others: Any, **_named: Any
) -> int:
    return int(sdpa_backward_flop_count(gradient, q, k, v))  # type: ignore[no-untyped-call]


# operators that torch's counter omits, with their numbers of operations by the shapes of arguments
PRODUCTS: dict[Any, Callable[..., int]] = {
    torch.ops.aten._scaled_dot_product_flash_attention_for_cpu: _attention,
    torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward: _attention_backward,
}
if has_onednn():
    PRODUCTS[torch.ops.mkldnn._linear_pointwise] = _linear


def product_counter() -> FlopCounterMode:
    """Return a context manager that counts the floating-point operations of the matrix products in
    its block, forward and backward.

    Its method `get_total_flops` returns the count.
    """
    return FlopCounterMode(display=False, custom_mapping=PRODUCTS)
