"""Inspect a model: its attention weights and parameter counts."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from ablate.errors import UserError
from ablate.model.attention import Kernel
from ablate.model.attention.explicit import Explicit
from ablate.model.attention.fused import Fused
from ablate.model.base import Model
from ablate.model.padding import Mask


@torch.no_grad()
def attention_weights(
    model: Model, inputs: Any, *, partial: bool = False
) -> dict[str, Float[Tensor, "B H Q K"]]:
    """Return the weights of every attention for the inputs of a batch, without dropout.

    Keys are names such as "encoder.0.self" or "decoder.0.cross", where the number counts layers.
    Kernels whose weights do not sum to 1 over the keys are left out. With `partial`, kernels whose
    weights are at least 0 and sum to less than 1 are included. If a layer is used several times
    because its parameters are shared, the weights of its last use are returned.
    """
    weights: dict[str, Tensor] = {}

    def record(name: str) -> Any:
        def hook(kernel: Kernel, inputs: tuple[Any, ...], output: Tensor) -> None:
            weights[name] = weights_of(kernel, *inputs)

        return hook

    training = model.training
    with ExitStack() as hooks:
        for name, kernel in model.attentions():
            if kernel.has_shares or (partial and kernel.has_partial_shares):
                hooks.enter_context(kernel.register_forward_hook(record(name)))
        hooks.callback(model.train, training)
        model.eval()(inputs)
    return weights


@contextmanager
def hooked(modules: Iterable[nn.Module], hook: Callable[..., Any]) -> Iterator[None]:
    """Register a forward hook on every module within a `with` block."""
    with ExitStack() as hooks:
        for module in modules:
            hooks.enter_context(module.register_forward_hook(hook))
        yield


def weights_of(
    kernel: Kernel, q: Tensor, k: Tensor, v: Tensor, mask: Mask, bias: Tensor | None
) -> Float[Tensor, "B H Q K"]:
    """Return the attention weights of a kernel for queries q and keys k.

    A kernel is linear in the values, so its output for an identity matrix of values is the matrix
    of attention weights.

    Raises:
        UserError: the outputs of the kernel are no weighted sums of the values.
    """
    check_weights(kernel)
    n_keys = k.size(2)
    identity = torch.eye(n_keys, dtype=v.dtype, device=v.device)
    weights: Tensor = kernel.forward(q, k, identity.expand(*v.shape[:2], -1, -1), mask, bias)
    return weights


def check_weights(model: nn.Module) -> None:
    """Raise UserError for a kernel, in a model or alone, that has no attention weights."""
    for kernel in model.modules():
        if isinstance(kernel, Kernel) and not kernel.has_weights:
            raise UserError(
                f"the outputs of {type(kernel).__name__} attention are not plain weighted sums of "
                "the values, so there are no attention weights to measure: choose another "
                "model/attention, such as fused, and not adapt=prefix"
            )


def scale_of(kernel: Kernel) -> float:
    """Return the factor by which a kernel multiplies the dot products of queries and keys.

    The attention weights are then the softmax of these scaled products, plus the bias, over all
    keys that the mask leaves.

    Raises:
        UserError: the kernel computes its weights in another way.
    """
    # a subclass may change the scores, or hide further keys, as a window does
    kind = type(kernel)
    computed = kind.forward, getattr(kind, "scores", None)
    plain = computed in ((Explicit.forward, Explicit.scores), (Fused.forward, None))
    if isinstance(kernel, Explicit | Fused) and plain:
        return kernel.scale
    raise UserError(
        f"model/attention is {type(kernel).__name__}, whose weights are not the softmax of scaled "
        "dot products of queries and keys over all keys that the mask leaves, but this measurement "
        "needs such weights: choose another model/attention, such as fused or explicit"
    )
