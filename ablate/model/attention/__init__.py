"""The interface of attention kernels, and kernels whose weights do not depend on the tokens.

A kernel is the part of an attention sub-layer between the projections: it computes the outputs of
the heads from queries, keys and values. `attention_weights` reads the weights from a whole model.
"""

from abc import ABC, abstractmethod
from contextlib import ExitStack
from typing import Any, ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from ablate.errors import UserError
from ablate.model import Cache, Law, Model
from ablate.model.layers import Dropout
from ablate.model.padding import Mask
from ablate.model.stack import Slots, unread

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
    values when dropout is off (`weights_of` relies on this). By default, the cache of
    step-by-step decoding holds the keys and values of past tokens. A kernel that needs another
    cache overrides `cache` and `step`.
    """

    breaks: ClassVar[frozenset[Law]] = frozenset()
    # whether its weights are at least 0 and sum to 1 over the keys, so that pictures can show them
    weights_are_probabilities = True
    weights_sum_below_one = False  # whether they are at least 0 and sum to less than 1
    # whether its outputs are plain weighted sums of the values; `inspect.weights_of` needs that
    has_weights = True
    keeps_pairs = True  # whether it can hide any single key from any single query
    longest: int | None = None  # largest number of keys; None: there is no limit
    # whether its scores are dot products with the queries, divided by sqrt(d_head), or do not grow
    # with d_head at all, so that model/parametrisation=mup can use heads of any width
    suits_mup = True
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


class Off(Kernel):
    """No attention: the output of every attention head is 0.

    An attention kernel that returns zeros.

    Equation: out = 0 for every head.
    Source: the removal of attention in ablations of the Transformer, as for heads in
        arXiv:1905.10650.
    What differs: the sub-layer stays, with its residual connection, its norm and all parameters;
        only the bias of the output projection has an effect.
    What to expect: in cross-attention, a language model that does not see the source; in
        self-attention, tokens without information about each other.

    Args:
        d_head: width of a head, which has no effect here.
        dropout: has no effect, because there are no weights.
    """

    weights_are_probabilities = False

    def __init__(self, *, d_head: int, dropout: float) -> None:
        super().__init__()

    def forward(self, q: Queries, k: Keys, v: Values, mask: Mask, bias: Bias | None) -> Outputs:
        """Return zeros."""
        zeros = torch.zeros(*q.shape[:3], v.size(3), dtype=v.dtype, device=v.device)
        return unread(zeros, q, k, v)


class Uniform(Kernel):
    """Uniform attention: the mean of all values that the mask allows.

    Attention that gives all allowed keys the same weight.

    Equation: out_i = sum over allowed j of v_j / (number of allowed j); zeros if no j is allowed.
    Source: "hard-coded" attention as a control: arXiv:2005.00742; a causal mean of values is the
        average attention of arXiv:1805.00631, section 3.
    What differs: values and the output are projected as in any head. Queries and keys keep their
        parameters, which have no effect, so that all arms have the same number of parameters.
    What to expect: attention cannot select tokens by order or content, so only the feed-forward
        layers distinguish tokens.

    Args:
        d_head: width of a head, which has no effect here.
        dropout: dropout probability of the attention weights.
    """

    without_scores = "uniform"

    def __init__(self, *, d_head: int, dropout: float) -> None:
        super().__init__()
        self.dropout = Dropout(dropout)

    def forward(self, q: Queries, k: Keys, v: Values, mask: Mask, bias: Bias | None) -> Outputs:
        """Return for each query the mean of its allowed values."""
        keep = mask.dense(q.size(2), k.size(2), q.device)
        if keep is None:
            keep = torch.ones(1, 1, q.size(2), k.size(2), dtype=torch.bool, device=q.device)
        weights = (keep / keep.sum(-1, keepdim=True).clamp(min=1)).to(v.dtype)
        return unread(self.dropout(weights.expand(*q.shape[:3], -1)) @ v, q, k)


class FixedOffset(Kernel):
    """Attention to the token at a fixed distance.

    Attention of each query to a single key, at a fixed distance from the query.

    Equation: out_i = v_(i + offset); zeros if there is no such key, or if the mask forbids it.
    Source: the fixed patterns of arXiv:2002.10260, section 3 (previous token, next token).
    What differs: all heads have the same pattern, and no head learns its own. Queries and keys keep
        their parameters, which have no effect. In cross-attention, target i reads source i +
        offset.
    What to expect: with offset -1, every layer reaches one token further back, as in a convolution.

    Args:
        d_head: width of a head, which has no effect here.
        dropout: not applied, because it would drop the only weight of a head.
        offset: distance from the query to the key in tokens; negative: the key is to the left.
    """

    weights_are_probabilities = False  # the first queries may have no key
    reads_positions = True
    without_scores = "fixed_offset"

    def __init__(self, *, d_head: int, dropout: float, offset: int) -> None:
        super().__init__()
        self.offset = offset

    def check(self, *, causal: bool, biased: bool) -> None:
        """Check that no mask hides the key at the offset, and that positions add no bias to scores.

        Raises:
            UserError: the key is a later token, which a causal mask hides, or the position option
                adds a bias to attention scores, which this kernel does not compute.
        """
        super().check(causal=causal, biased=biased)
        if causal and self.offset > 0:
            raise UserError(
                f"model.attention.offset is {self.offset}: the causal mask of the decoder hides "
                "later tokens, so it must be at most 0 there"
            )

    def forward(self, q: Queries, k: Keys, v: Values, mask: Mask, bias: Bias | None) -> Outputs:
        """Return for each query the value of the key at the offset; zeros if there is no key."""
        queries = token_positions(mask.query_positions, q)
        keys = token_positions(mask.key_positions, k)
        weights = (keys[:, None, None, :] == queries[:, None, :, None] + self.offset).to(v.dtype)
        keep = mask.dense(q.size(2), k.size(2), q.device)
        if keep is not None:
            weights = weights * keep
        return unread(weights @ v, q, k)


def token_positions(stored: Int[Tensor, "#B L"] | None, heads: Float[Tensor, "B H L E"]) -> Tensor:
    """Return token positions, "#B L": the positions that a mask stores, or 0, 1, 2, ... if it
    stores none. `heads` are queries or keys, which have L tokens.
    """
    return torch.arange(heads.size(2), device=heads.device)[None] if stored is None else stored


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
            if kernel.weights_are_probabilities or (partial and kernel.weights_sum_below_one):
                hooks.enter_context(kernel.register_forward_hook(record(name)))
        hooks.callback(model.train, training)
        model.eval()(inputs)
    return weights


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
