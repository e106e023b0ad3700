"""Record queries, keys, values and weights of all attentions of a model."""

import math
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from ablate.errors import UserError
from ablate.model.attention.base import Kernel
from ablate.model.attention.explicit import Explicit
from ablate.model.attention.fused import Fused
from ablate.model.base import Model
from ablate.model.inspect import weights_of


class Attended(NamedTuple):
    """Queries, keys and values of the heads of one attention, and the resulting weights.

    `scale` multiplies the products of queries and keys, and `bias` is added to them. The scale is
    NaN for kernels without such products.
    """

    q: Float[Tensor, "B H Q E"]
    k: Float[Tensor, "B H K E"]
    v: Float[Tensor, "B H K E"]
    weights: Float[Tensor, "B H Q K"]
    scale: float
    bias: Float[Tensor, "#B #H #Q #K"] | None

    @property
    def scores(self) -> Float[Tensor, "B H Q K"]:
        """Scaled products of queries and keys, plus the bias; masked pairs are included."""
        products = self.q @ self.k.mT * self.scale
        return products if self.bias is None else products + self.bias


def check_scores(kernels: Iterable[Kernel]) -> None:
    """Raise UserError for a kernel whose scores are not the scores of `Attended`."""
    for kernel in kernels:
        if not isinstance(kernel, Explicit | Fused):
            raise UserError(
                f"the scores of {type(kernel).__name__} attention are not scaled products of "
                "queries and keys, so this measure cannot compute them: choose another "
                "model/attention, such as fused"
            )


@contextmanager
def watched(model: Model) -> Iterator[dict[str, Attended]]:
    """Record the inputs and weights of every attention of a model within a `with` block.

    The yielded dictionary has the records of the last forward pass, by names such as
    "encoder.0.self". Gradients are switched off in the block.
    """
    by_name: dict[str, Attended] = {}

    def record(name: str) -> Any:
        def hook(kernel: Kernel, inputs: tuple[Any, ...], output: Tensor) -> None:
            q, k, v, _, bias = inputs
            scale = getattr(kernel, "scale", math.nan)
            by_name[name] = Attended(q, k, v, weights_of(kernel, *inputs), scale, bias)

        return hook

    with ExitStack() as hooks, torch.no_grad():
        for name, kernel in model.attentions():
            hooks.enter_context(kernel.register_forward_hook(record(name)))
        yield by_name
