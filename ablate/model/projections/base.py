"""The interface of projections: the linear maps from tokens to attention heads and back."""

from abc import ABC
from typing import Any, ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from ablate.config.limits import check_one_of
from ablate.errors import UserError
from ablate.model.laws import Law
from ablate.model.linear import Linear, linear

OUTPUTS = ("learned", "identity")


class Identity(nn.Module):
    """The identity map, with a weight and a bias so that it can be stacked with linear maps."""

    weight: Tensor
    bias: Tensor

    def __init__(self, width: int) -> None:
        super().__init__()
        self.register_buffer("weight", torch.eye(width), persistent=False)
        self.register_buffer("bias", torch.zeros(width), persistent=False)

    def forward(self, x: Float[Tensor, "*N D"]) -> Float[Tensor, "*N D"]:
        """Return x."""
        return x


class Repeated(nn.Module):
    """A linear map to a few heads, whose output is repeated for groups of neighbouring heads."""

    def __init__(self, d_model: int, d_head: int, groups: int, times: int) -> None:
        super().__init__()
        self.group = Linear(d_model, groups * d_head)
        self.d_head, self.times = d_head, times

    @property
    def weight(self) -> Float[Tensor, "E D"]:
        """The weight matrix of the map to all heads; heads of a group have equal rows."""
        return self._repeat(self.group.weight)

    @property
    def bias(self) -> Any:  # as in torch.nn.Linear: a tensor, or None
        """The bias of all heads, of shape "E"; None if there is no bias."""
        return None if self.group.bias is None else self._repeat(self.group.bias)

    def forward(self, x: Float[Tensor, "*N D"]) -> Float[Tensor, "*N E"]:
        """Return x W^T + b for all heads."""
        return linear(x, self.weight, self.bias)

    def adjust_initial_values(self) -> None:
        """Rescale the initial weights to the range of a matrix with separate rows for each head.

        The range of the Xavier uniform initialisation depends on the number of rows. Here the
        matrix has fewer rows, because neighbouring heads share rows.
        """
        n_out, n_in = self.group.weight.shape
        self.group.weight.mul_(((n_in + n_out) / (n_in + n_out * self.times)) ** 0.5)

    def _repeat(self, rows: Tensor) -> Tensor:
        heads = rows.view(-1, self.d_head, *rows.shape[1:])
        return heads.repeat_interleave(self.times, 0).flatten(0, 1)


Map = Linear | Identity | Repeated


class Projections(ABC):
    """The linear maps of an attention sub-layer: to queries, keys and values, and to the output.

    Built as `projections(d_model=, n_heads=, d_head=)`. The sub-layer registers the maps as
    modules. Queries, keys and values may share a map.
    """

    breaks: ClassVar[frozenset[Law]] = frozenset()
    query: Map
    key: Map
    value: Map

    def __init__(self, *, d_model: int, n_heads: int, d_head: int, output: str) -> None:
        check_one_of("model.projections.output", output, OUTPUTS)
        width = n_heads * d_head
        self.output: Map = Linear(width, d_model)
        if output == "identity":
            self.output = identity("model.projections.output=identity", d_model, n_heads, d_head)


def identity(choice: str, d_model: int, n_heads: int, d_head: int) -> Identity:
    """Return the identity map between tokens and heads.

    `choice` is the setting that requires the identity; it is used in the message.

    Raises:
        UserError: the concatenated heads are not as wide as a token.
    """
    if n_heads * d_head != d_model:
        raise UserError(
            f"{choice} needs model.n_heads * model.d_head = model.d_model, but {n_heads} * "
            f"{d_head} is not {d_model}: change one of the three"
        )
    return Identity(d_model)
