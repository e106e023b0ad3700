"""Hooks on the modules of a model, and the scale of the attention scores of a kernel."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from torch import nn

from ablate.errors import UserError
from ablate.model.attention import Kernel
from ablate.model.attention.explicit import Explicit
from ablate.model.attention.fused import Fused


@contextmanager
def hooked(modules: Iterable[nn.Module], hook: Callable[..., Any]) -> Iterator[None]:
    """Register a forward hook on every module within a `with` block."""
    with ExitStack() as hooks:
        for module in modules:
            hooks.enter_context(module.register_forward_hook(hook))
        yield


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
