"""The interface of attention kernels.

A kernel is the part of an attention sub-layer between the projections: it computes the outputs of
the heads from queries, keys and values.
"""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from ablate.config.limits import check_one_of
from ablate.errors import UserError
from ablate.model import Law
from ablate.model.cache import Cache
from ablate.model.padding import Mask
from ablate.model.sublayer import Slots

# The tensors of a kernel, each with a dimension for sentences and a dimension for heads.
Queries = Float[Tensor, "B H Q E"]  # a vector for each query, as wide as a head
Keys = Float[Tensor, "B H K E"]  # a vector for each key, as wide as a query
Values = Float[Tensor, "B H K W"]  # a vector for each key, of any width
Outputs = Float[Tensor, "B H Q W"]  # a vector for each query, as wide as a value
Bias = Float[Tensor, "#B #H #Q #K"]  # a number for each query and key; dimensions may have size 1
# In a step of decoding, the queries are the newest tokens, and there are as many new keys.
New = Queries  # new queries or keys
NewValues = Outputs


class Kernel(nn.Module, ABC):
    """Computes the outputs of attention heads from queries, keys, values and a mask.

    Built as `attention(d_head=..., dropout=...)`. A kernel with `has_weights` is linear in the
    values when dropout is off (`ablate.model.inspect` relies on this). By default, the cache of
    step-by-step decoding holds the keys and values of past tokens. A kernel that needs another
    cache overrides `cache` and `step`.
    """

    breaks: ClassVar[frozenset[Law]] = frozenset()
    # whether its weights are at least 0 and sum to 1 over the keys, so that pictures can show them
    has_shares = True
    has_partial_shares = False  # whether they are at least 0 and sum to less than 1
    # whether its outputs are plain weighted sums of the values; `inspect.weights_of` needs that
    has_weights = True
    keeps_pairs = True  # whether it can hide any single key from any single query
    longest: int | None = None  # largest number of keys; None: there is no limit
    # whether its scores are dot products with the queries, divided by sqrt(d_head), or do not grow
    # with d_head at all, so that model/parametrisation=mup can use heads of any width
    divides_by_root = True
    reads_positions = False  # whether it needs the positions of queries and keys
    # its name in model/attention, if it computes no scores to add a bias to; otherwise None
    without_scores: str | None = None

    @abstractmethod
    def forward(self, q: Queries, k: Keys, v: Values, mask: Mask, bias: Bias | None) -> Outputs:
        """Return the outputs of the heads; `bias` is added to the scores of queries and keys."""

    def join(self, *, d_model: int, n_heads: int, layer: int) -> None:
        """Create the parameters whose shapes depend on the sub-layer that contains the kernel.

        The sub-layer calls this method once. `layer` is the number of the layer in its stack,
        counted from 0.
        """
        return

    def reads_strided(self, n_keys: int, device: torch.device) -> bool:
        """Return whether the kernel can read queries, keys and values as strided views.

        In the output of a projection, the vectors of the heads are interleaved. A kernel that
        cannot read a view of this output receives a contiguous copy for each head.
        """
        return False

    def prepare_queries(self, q: Queries) -> Queries:
        """Return the queries before the rotation by positions; cross-attention rotates nothing."""
        return q

    def prepare_keys(self, k: Keys) -> Keys:
        """Return the keys before the rotation by positions; cross-attention rotates nothing."""
        return k

    def finish(self, heads: Outputs, x: Float[Tensor, "B Q D"]) -> Outputs:
        """Return the input of the output projection, given the outputs of the heads.

        `x` is the input of the sub-layer.
        """
        return heads

    def check_context(self, tokens: int) -> None:
        """Raise UserError if the kernel would have no effect in contexts of `tokens` tokens."""
        return

    def check(self, *, causal: bool, biased: bool) -> None:
        """Raise UserError if the kernel cannot apply a causal mask or add a bias to its scores.

        `causal`: whether the mask will be causal. `biased`: whether the position option, such as
        ALiBi, adds a bias to the scores.
        """
        if biased and self.without_scores:
            raise UserError(
                f"model/attention={self.without_scores} has no scores that the biases of "
                "model/position could be added to: choose positions without biases, such as "
                "model/position=sinusoidal"
            )

    def cache(self, slots: Slots) -> Cache:
        """Return the empty cache of self-attention for step-by-step decoding."""
        return KeysValues(slots)

    def step(
        self, q: New, k: New, v: NewValues, slots: Slots, cache: Any, bias: Bias | None
    ) -> Outputs:
        """Return the output for the newest token of each hypothesis; add the token to the cache."""
        keys, values = cache.extend(k, v)
        mask = slots.mask
        if self.reads_positions:
            mask = mask.at(slots.positions, slots.past_positions)
        return self(q, keys, values, mask, bias)


def with_more_keys(
    q: Queries, k: Keys, mask: Mask, bias: Bias | None, *, before: int = 0, behind: int = 0
) -> tuple[Mask, Tensor | None]:
    """Return mask and bias for more keys, to which every query may attend without a bias.

    Args:
        q: queries.
        k: the keys to which `mask` and `bias` apply.
        mask: says which keys a query may attend to.
        bias: added to the scores.
        before: number of further keys before k.
        behind: number of further keys behind k.
    """

    def extended() -> Mask:
        pairs = mask.dense(q.size(2), k.size(2), q.device)
        if pairs is not None:
            pairs = F.pad(pairs.expand(-1, -1, -1, k.size(2)), (before, behind), value=True)
        return Mask(pairs=pairs)

    if bias is not None:
        bias = F.pad(bias.expand(-1, -1, -1, k.size(2)), (before, behind))
    return mask.once((before, behind), extended), bias


class KeysValues(Cache):
    """A cache of the keys and values of past tokens, stored at the indices that `slots` assigns.

    To reorder hypotheses, `Slots.reorder` is enough: keys and values stay in their slots, and the
    mask of `Slots` says which slots each hypothesis may read.
    """

    def __init__(self, slots: Slots) -> None:
        self.slots = slots
        self.past: list[Float[Tensor, "M H K E"]] = []

    def extend(self, *new: Float[Tensor, "M H N E"]) -> list[Float[Tensor, "M H K E"]]:
        """Store the new keys and values of this step; return all keys and values stored so far."""
        if not self.past:
            self.past = [x.new_zeros(*x.shape[:2], self.slots.room, x.size(3)) for x in new]
        for i, x in enumerate(new):
            missing = self.slots.room - self.past[i].size(2)
            if missing:
                room = x.new_zeros(*x.shape[:2], missing, x.size(3))
                self.past[i] = torch.cat([self.past[i], room], 2)
            self.past[i][:, :, self.slots.new] = x
        return [past[:, :, : self.slots.width] for past in self.past]

    def keep(self, sentences: Int[Tensor, " M"]) -> None:
        """Keep the given sentences in the cache and drop all other sentences."""
        self.past = [past.index_select(0, sentences) for past in self.past]


ROOTS = ("sqrt_d_head", "two_sqrt_d_head")  # values of `scale` that are divisors like sqrt(d_head)


def scale_factor(scale: str, d_head: int) -> float:
    """Return the factor that multiplies the scores: 1 divided by the divisor that `scale` names.

    Raises:
        UserError: `scale` is not the name of a divisor.
    """
    factors = {
        "sqrt_d_head": d_head**-0.5,
        "none": 1.0,
        "d_head": 1 / d_head,
        "fourth_root_d_head": d_head**-0.25,
        "two_sqrt_d_head": 0.5 * d_head**-0.5,
    }
    check_one_of("model.attention.scale", scale, factors)
    return factors[scale]
