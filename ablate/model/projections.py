"""The interface and the options of projections: the linear maps from tokens to attention heads and
back.
"""

from abc import ABC
from typing import Annotated, Any, ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from ablate.config.limits import Count, OneOf
from ablate.errors import UserError
from ablate.model import Law
from ablate.model.layers import Linear, stacked_linear

Output = Annotated[str, OneOf(("learned", "identity"))]


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
        return stacked_linear(x, [self.weight], self.bias)

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

    def __init__(self, *, d_model: int, n_heads: int, d_head: int, output: Output) -> None:
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


class Separate(Projections):
    """Separate projections: queries, keys and values each have a matrix.

    Separate linear maps for queries, keys, values and output.

    Equation: q = W_q x + b_q, k = W_k y + b_k, v = W_v y + b_v, cut into heads; out = W_o
        [concatenated heads] + b_o. x are the tokens with the queries, y the tokens with the keys.
    Source: arXiv:1706.03762, section 3.2.2; without W_o the projection-free blocks of
        arXiv:2311.01906, section 4.2.
    What differs: there are biases, which the paper does not mention, but which its code and torch
        have. Option `no_output` returns the concatenated heads: W_o = 1, b_o = 0.
    What to expect: option `separate` is the reference of this factor. Without W_o each head writes
        only to its own channels. The next layer mixes all channels, so the loss is only slightly
        higher.

    Args:
        d_model: width of tokens.
        n_heads: number of heads.
        d_head: width of a head.
        output: output projection of the concatenated heads: learned | identity (none).

    Raises:
        UserError: `output` is the identity although n_heads * d_head is not d_model.
    """

    def __init__(self, *, d_model: int, n_heads: int, d_head: int, output: Output) -> None:
        super().__init__(d_model=d_model, n_heads=n_heads, d_head=d_head, output=output)
        self.query, self.key, self.value = (Linear(d_model, n_heads * d_head) for _ in range(3))


Maps = Annotated[str, OneOf(("queries_keys", "keys_values", "all"))]


class Tied(Projections):
    """Queries, keys or values that share a matrix.

    Projections in which two or three of the linear maps share their weights.

    Equation: `queries_keys`: W_q = W_k; `keys_values`: W_k = W_v; `all`: W_q = W_k = W_v; biases as
        well.
    Source: `queries_keys`: arXiv:2001.04451, section 2 (shared-QK). `all`: arXiv:2412.00359.
        `keys_values` and the other two: arXiv:2606.04032.
    What differs: arXiv:2001.04451 normalises keys and forbids a token to attend to itself; here
        keys are not normalised, and a token may attend to itself. arXiv:2412.00359 learns a
        diagonal matrix for each of the three uses.
    What to expect: attention has a quarter fewer weights; with `all`, it has half as many. With
        queries_keys scores are symmetric before positions rotate or bias them, and a token's score
        with itself is large. The attention weights are not symmetric, because each query is
        normalised separately.

    Args:
        d_model: width of tokens.
        n_heads: number of heads.
        d_head: width of a head.
        maps: linear maps that share weights: queries_keys | keys_values | all.
        output: output projection of the concatenated heads: learned | identity (none).

    Raises:
        UserError: `output` is the identity although n_heads * d_head is not d_model.
    """

    def __init__(
        self, *, d_model: int, n_heads: int, d_head: int, maps: Maps, output: Output
    ) -> None:
        super().__init__(d_model=d_model, n_heads=n_heads, d_head=d_head, output=output)
        self.query, self.value = (Linear(d_model, n_heads * d_head) for _ in range(2))
        if maps == "all":
            self.value = self.query
        self.key = self.value if maps == "keys_values" else self.query


class Grouped(Projections):
    """Heads in groups that share keys and values (grouped-query and multi-query attention).

    Projections to fewer heads, which are repeated.

    Equation: head h has the keys and values of group h // (n_heads / groups), which all heads of
        the group share; if `queries` is true, the heads of a group share queries as well.
    Source: for one group, arXiv:1911.02150, section 3 (multi-query attention); for several groups,
        arXiv:2305.13245, section 2.2 (grouped-query attention).
    What differs: Xavier initial values have the range of a linear map to all heads, so that a
        shared head starts no larger than a separate head. Keys and values are computed and stored
        for every head, so decoding needs as much memory as without groups. Option `one_set` shares
        queries too, which no source does.
    What to expect: slightly below separate maps (arXiv:1911.02150, table 1). If all heads share
        queries, keys and values, their outputs are equal except for dropout of the attention
        weights.

    Args:
        d_model: width of tokens.
        n_heads: number of heads.
        d_head: width of a head.
        groups: number of groups of heads that share keys and values; must divide `model.n_heads`.
        queries: whether the heads of a group share queries as well.
        output: output projection of the concatenated heads: learned | identity (none).

    Raises:
        UserError: `groups` does not divide n_heads, or `output` is the identity although n_heads *
            d_head is not d_model.
    """

    def __init__(
        self,
        *,
        d_model: int,
        n_heads: int,
        d_head: int,
        groups: Count,
        queries: bool,
        output: Output,
    ) -> None:
        super().__init__(d_model=d_model, n_heads=n_heads, d_head=d_head, output=output)
        if n_heads % groups:
            raise UserError(
                f"model.projections.groups is {groups}: it must divide model.n_heads {n_heads}"
            )
        sizes = {"groups": groups, "times": n_heads // groups}
        self.key, self.value = (Repeated(d_model, d_head, **sizes) for _ in range(2))
        self.query = Linear(d_model, n_heads * d_head)
        if queries:
            self.query = Repeated(d_model, d_head, **sizes)


class NoProjections(Projections):
    """No projections: tokens themselves are queries, keys and values.

    Projections that use the identity for queries, keys and values.

    Equation: q = x, k = v = y; where x are the tokens with the queries and y the tokens with the
        keys. Head h has channels h d_head to (h + 1) d_head; the output is the concatenation of the
        heads.
    Source: arXiv:1711.07971, section 3.2 (scores of tokens that are not projected); values and
        output that are not projected: arXiv:2311.01906, section 4.2.
    What differs: the first paper keeps projected values, the second keeps projected queries and
        keys; here attention has no parameters except the output projection, if it is learned.
        Products with an identity matrix take the same time as with a learned matrix.
    What to expect: in self-attention, the score of a token with itself is its squared length, so a
        token mostly attends to itself. Scores are symmetric. The loss is higher than with learned
        queries and keys.

    Args:
        d_model: width of tokens; it must equal n_heads * d_head.
        n_heads: number of heads.
        d_head: width of a head.
        output: output projection of the concatenated heads: learned | identity (none).

    Raises:
        UserError: d_model is not n_heads * d_head.
    """

    def __init__(self, *, d_model: int, n_heads: int, d_head: int, output: Output) -> None:
        same = identity("model/projections=none", d_model, n_heads, d_head)
        super().__init__(d_model=d_model, n_heads=n_heads, d_head=d_head, output=output)
        self.query = self.key = self.value = same
