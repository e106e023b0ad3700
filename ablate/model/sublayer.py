"""What a layer is made of, and what it is told."""

from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from ablate.model.cache import Cache, Nothing
from ablate.model.laws import Law
from ablate.model.position.base import Position

# torch's CPU kernels take the exponentials of a row one by one when it is shorter than a vector of
# 16 floats, about ten times slower per key; kernels extend such rows by keys of weight 0
VECTOR = 16


class Memory(NamedTuple):
    """Encoded source sentences; `real` is False at padding."""

    states: Float[Tensor, "B S D"]
    real: Bool[Tensor, "B S"]


class Place(NamedTuple):
    """Where the tokens stand that a sub-layer is given."""

    positions: Int[Tensor, "#B L"]
    position: Position  # the stack's, for attention that positions act in
    real: Bool[Tensor, "B L"] | None  # False at padding; None in decoding, which has none
    memory: Memory | None  # what a decoder reads; in decoding, caches have what they need of it
    prefix: int = 0  # the first tokens, that all may read; in decoding, slots know
    documents: Int[Tensor, "B L"] | None = None  # of each token; a token reads its own alone
    # values that layers leave for later ones, of the same tokens
    earlier: list[Float[Tensor, "B H L E"]] | None = None
    padded: bool = True  # whether `real` may be False anywhere


class Slots:
    """Where hypotheses write, and whose past is whose.

    The hypotheses of a sentence write into one row of slots, a slot each at every step, and `reads`
    says which slots are a hypothesis's own past: to go on from another hypothesis copies this mask,
    and nothing of what the slots hold. A prefix that all hypotheses of a sentence share, such as a
    source in front of its translation, is written into the first slots at once.
    """

    def __init__(self, sentences: int, beams: int, device: torch.device) -> None:
        self.beams = beams
        room = VECTOR * beams  # a multiple of VECTOR, and so is its double
        self.reads = torch.zeros(sentences, beams, room, dtype=torch.bool, device=device)
        self.length = 0  # tokens that every hypothesis has, without the prefix
        self.first = 0  # slots of the prefix
        self.before = torch.zeros(1, 1, dtype=torch.long, device=device)  # tokens of the prefix
        self.new = slice(0, 0)  # the slots of this step
        self.positions: Int[Tensor, "#M N"] = self.before  # where the tokens of this step stand

    def begin_prefix(self, real: Bool[Tensor, "M P"], *, causal: bool) -> None:
        """Let every token of the prefix read all, or itself and those before; no padding."""
        length = real.size(1)
        self.first = -(-length // VECTOR) * VECTOR
        self.new = slice(0, length)
        self.positions = torch.arange(length, device=real.device)[None]
        pairs = torch.ones(length, length, dtype=torch.bool, device=real.device)
        pairs = real[:, None] & (pairs.tril() if causal else pairs)
        self.reads = F.pad(pairs, (0, self.first + self.room - length))

    def end_prefix(self, real: Bool[Tensor, "M P"]) -> None:
        """Let every hypothesis read the prefix."""
        self.before = real.sum(1, keepdim=True)
        whole = F.pad(real, (0, self.room - real.size(1)))
        self.reads = whole[:, None].repeat(1, self.beams, 1)

    def begin_step(self) -> None:
        """Make room for one more token, which every hypothesis will read itself."""
        start = self.first + self.length * self.beams
        self.new = slice(start, start + self.beams)
        self.positions = (self.before + self.length).expand(-1, self.beams)
        if self.new.stop > self.room:
            self.reads = torch.cat([self.reads, torch.zeros_like(self.reads)], 2)
        own = torch.eye(self.beams, dtype=torch.bool, device=self.reads.device)
        self.reads[:, :, self.new] = own

    def end_step(self) -> None:
        """Go on to the next token."""
        self.length += 1

    @property
    def room(self) -> int:
        """Slots of each sentence, used or not."""
        return self.reads.size(2)

    @property
    def width(self) -> int:
        """Slots that are read at this step: all that are used, up to a multiple of VECTOR."""
        return -(-self.new.stop // VECTOR) * VECTOR

    @property
    def pairs(self) -> Bool[Tensor, "M 1 N K"]:
        """Which slots each hypothesis may read at this step."""
        return self.reads[:, None, :, : self.width]

    @property
    def past_positions(self) -> Int[Tensor, "#M K"]:
        """Where the token in each slot stands."""
        slots = torch.arange(self.width, device=self.reads.device)[None]
        decoded = self.before + (slots - self.first) // self.beams
        return torch.where(slots < self.first, slots, decoded) if self.first else decoded

    def reorder(self, rows: Int[Tensor, " R"]) -> None:
        """Let row i go on from what row `rows[i]`, of the same sentence, has decoded."""
        self.reads = self.reads.flatten(0, 1).index_select(0, rows).view_as(self.reads)

    def keep(self, sentences: Int[Tensor, " M"]) -> None:
        """Drop all sentences but these."""
        self.reads = self.reads.index_select(0, sentences)
        if self.first:
            self.before = self.before.index_select(0, sentences)


class Sublayer(nn.Module, ABC):
    """One step of a layer: attention, feed-forward, or anything that maps tokens to tokens.

    A layer is a few of them in a row, each in a residual connection. Decoding gives it the newest
    tokens of the N hypotheses of M sentences at once, with the cache that it made itself.
    """

    breaks: ClassVar[frozenset[Law]] = frozenset()

    def check(self, position: Position) -> None:
        """Raise UserError where the sub-layer cannot work with the positions of its stack."""
        return

    @abstractmethod
    def forward(self, x: Float[Tensor, "B L D"], at: Place) -> Float[Tensor, "B L D"]:
        """Return what the sub-layer makes of whole sequences."""

    def cache(self, memory: Memory | None, slots: Slots) -> Cache:
        """Return what decoding has to remember, before the first step."""
        return Nothing()

    def step(
        self, x: Float[Tensor, "M N D"], at: Place, slots: Slots, cache: Cache
    ) -> Float[Tensor, "M N D"]:
        """Return what the sub-layer makes of the newest tokens, and advance the cache."""
        return self(x, at)


def unread(out: Tensor, *inputs: Tensor) -> Tensor:
    """Return `out`; the parameters behind these inputs, which it ignores, get gradients of 0.

    Without one for every parameter, training on several processes waits for ever.
    """
    return out + sum(x[..., :0].sum() for x in inputs)
