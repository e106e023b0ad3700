"""The interface of sub-layers, and the context (positions, masks) that a stack passes to them."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable
from typing import Any, ClassVar, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from ablate.model import Cache, Law
from ablate.model.padding import Mask
from ablate.model.position import Heads, Newest, Position, Positions, Tokens

# torch's CPU kernels compute the exponentials of rows below 16 floats one by one, about ten times
# slower per key; attention kernels extend such rows by keys of weight 0
VECTOR = 16


class Memory(NamedTuple):
    """The outputs of the encoder for a batch of sources; `real` is False at padding."""

    states: Float[Tensor, "B S D"]
    real: Bool[Tensor, "B S"]


class LayerContext(NamedTuple):
    """Data about the tokens that a sub-layer receives, such as positions and padding."""

    positions: Positions
    position: Position  # position option of the stack, for self-attention
    real: Bool[Tensor, "B L"] | None  # False at padding; None in decoding, without padding
    memory: Memory | None  # the encoded source; in decoding, caches replace it
    prefix: int = 0  # number of tokens at the start that all tokens may read; not in decoding
    documents: Int[Tensor, "B L"] | None = None  # each token's document; None: a single document
    # attention values that earlier layers have stored for the same tokens
    earlier: list[Heads] | None = None
    padded: bool = True  # whether `real` may be False anywhere
    # whether padding is on the right, and nothing reads the outputs at padding
    ignores_padding: bool = False
    memo: dict[Hashable, Any] | None = None  # results that the layers share; None: no sharing

    def once(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """Return the result of `make`, which is called only the first time for this key."""
        if self.memo is None:
            return make()
        if key not in self.memo:
            self.memo[key] = make()
        return self.memo[key]


class Slots(Cache):
    """Assigns tokens of hypotheses to slots (indices) of a cache, for step-by-step decoding.

    All hypotheses of a sentence share one row of slots, and each hypothesis writes to a separate
    slot at every step. The mask `reads` marks the slots that a hypothesis may read: the slots of
    its own earlier tokens. To continue from another hypothesis, only this mask is copied, not the
    cached keys and values. A prefix that all hypotheses of a sentence share, such as a source in
    front of its translation, fills the first slots at once.
    """

    def __init__(self, sentences: int, beams: int, device: torch.device) -> None:
        self.beams = beams
        room = VECTOR * beams  # a multiple of VECTOR, and so is its double
        self.reads = torch.zeros(sentences, beams, room, dtype=torch.bool, device=device)
        self.length = 0  # number of tokens of every hypothesis, without the prefix
        self.first = 0  # number of slots of the prefix
        self.before = torch.zeros(
            1, 1, dtype=torch.long, device=device
        )  # number of tokens of the prefix
        self.new = slice(0, 0)  # the slots of this step
        self.positions: Int[Tensor, "#M N"] = self.before  # positions of the tokens of this step
        self.mask = self._mask()  # the slots that each hypothesis may read at this step

    def begin_prefix(self, real: Bool[Tensor, "M P"], *, causal: bool) -> None:
        """Assign the first slots to the prefix, and let its tokens read the prefix without padding.

        With `causal`, a token of the prefix may not read later tokens.
        """
        length = real.size(1)
        self.first = -(-length // VECTOR) * VECTOR
        self.new = slice(0, length)
        self.positions = torch.arange(length, device=real.device)[None]
        pairs = torch.ones(length, length, dtype=torch.bool, device=real.device)
        pairs = real[:, None] & (pairs.tril() if causal else pairs)
        self.reads = F.pad(pairs, (0, self.first + self.room - length))
        self.mask = self._mask()

    def end_prefix(self, real: Bool[Tensor, "M P"]) -> None:
        """End the prefix: from now on, each hypothesis may read the whole prefix except padding."""
        self.before = real.sum(1, keepdim=True)
        whole = F.pad(real, (0, self.room - real.size(1)))
        self.reads = whole[:, None].repeat(1, self.beams, 1)

    def begin_step(self) -> None:
        """Add a slot for the next token of each hypothesis; other hypotheses may not read it."""
        start = self.first + self.length * self.beams
        self.new = slice(start, start + self.beams)
        self.positions = (self.before + self.length).expand(-1, self.beams)
        if self.new.stop > self.room:
            self.reads = torch.cat([self.reads, torch.zeros_like(self.reads)], 2)
        identity = torch.eye(self.beams, dtype=torch.bool, device=self.reads.device)
        self.reads[:, :, self.new] = identity
        self.mask = self._mask()

    def end_step(self) -> None:
        """Add 1 to the number of decoded tokens of each hypothesis."""
        self.length += 1

    @property
    def room(self) -> int:
        """The number of allocated slots of each sentence, used or not."""
        return self.reads.size(2)

    @property
    def width(self) -> int:
        """The number of slots that are read at this step.

        These are all slots in use, rounded up to a multiple of VECTOR for vector instructions.
        """
        return -(-self.new.stop // VECTOR) * VECTOR

    def _mask(self) -> Mask:
        return Mask(pairs=self.reads[:, None, :, : self.width])

    @property
    def past_positions(self) -> Int[Tensor, "#M K"]:
        """The position of the token that each slot holds."""
        slots = torch.arange(self.width, device=self.reads.device)[None]
        decoded = self.before + (slots - self.first) // self.beams
        return torch.where(slots < self.first, slots, decoded) if self.first else decoded

    def reorder(self, rows: Int[Tensor, " R"]) -> None:
        """Replace the state of row i by the state of row `rows[i]` of the same sentence."""
        self.reads = self.reads.flatten(0, 1).index_select(0, rows).view_as(self.reads)

    def keep(self, sentences: Int[Tensor, " M"]) -> None:
        """Keep the rows of the given sentences and drop all other rows."""
        self.reads = self.reads.index_select(0, sentences)
        if self.first:
            self.before = self.before.index_select(0, sentences)


class Sublayer(nn.Module, ABC):
    """A part of a layer that maps tokens to tokens, such as attention or a feed-forward network.

    A layer is a sequence of sub-layers with residual connections. In decoding, `step` receives the
    newest tokens of N hypotheses for each of M sentences, and the cache that `cache` returned.
    """

    breaks: ClassVar[frozenset[Law]] = frozenset()

    def check(self, position: Position) -> None:
        """Raise UserError if the sub-layer does not work with the position option of its stack."""
        return

    @abstractmethod
    def forward(self, x: Tokens, at: LayerContext) -> Tokens:
        """Return the output of the sub-layer for whole sequences."""

    def cache(self, memory: Memory | None, slots: Slots) -> Cache:
        """Return the cache for step-by-step decoding, before the first step.

        `memory` is the encoded source, for cross-attention; `slots` assigns tokens to indices.
        """
        return Cache()

    def step(self, x: Newest, at: LayerContext, slots: Slots, cache: Cache) -> Newest:
        """Return the output of the sub-layer for the newest tokens; add the tokens to the cache."""
        return self(x, at)


def unread(out: Tensor, *inputs: Tensor) -> Tensor:
    """Return `out` unchanged, but give `inputs`, which do not affect it, gradients of 0.

    Distributed training hangs unless every parameter has a gradient.
    """
    return out + sum(x[..., :0].sum() for x in inputs)
