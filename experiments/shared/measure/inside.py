"""Record queries, keys, values and weights of all attentions of a model."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from ablate.model import Model
from ablate.model.attention import Kernel, weights_of
from experiments.shared.measure.kernels import scale_of


class Attended(NamedTuple):
    """Queries, keys and values of the heads of one attention, and the weights that the kernel
    computes from them; `bias` is added to the scores.
    """

    q: Float[Tensor, "B H Q E"]
    k: Float[Tensor, "B H K E"]
    v: Float[Tensor, "B H K E"]
    weights: Float[Tensor, "B H Q K"]
    kernel: Kernel
    bias: Float[Tensor, "#B #H #Q #K"] | None

    @property
    def scores(self) -> Float[Tensor, "B H Q K"]:
        """Scaled products of queries and keys, plus the bias; masked pairs are included.

        Raises:
            UserError: the attention weights are not the softmax of such scores.
        """
        products = self.q @ self.k.mT * scale_of(self.kernel)
        return products if self.bias is None else products + self.bias


@contextmanager
def watched(model: Model) -> Iterator[dict[str, Attended]]:
    """Record the inputs and weights of every attention of a model within a `with` block.

    The yielded dictionary has the records of the last forward pass, by names such as
    "encoder.0.self". Gradients are switched off in the block.
    """
    by_name: dict[str, Attended] = {}

    def record(name: str, kernel: Kernel, inputs: tuple[Any, ...], output: Tensor) -> None:
        q, k, v, _, bias = inputs
        by_name[name] = Attended(q, k, v, weights_of(kernel, *inputs), kernel, bias)

    with ExitStack() as hooks, torch.no_grad():
        for name, kernel in model.attentions():
            hooks.enter_context(kernel.register_forward_hook(partial(record, name)))
        yield by_name
