"""A stack of layers (arXiv:1706.03762, section 3.1), on whole sequences or step by step: the
interface of its sub-layers, and the context (positions, masks) that it passes to them.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from itertools import count, islice
from operator import add
from typing import Any, ClassVar, NamedTuple, cast

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from ablate import process
from ablate.errors import UserError
from ablate.model import Cache, Law
from ablate.model.block import Block
from ablate.model.layers import Dropout, to_product_dtype
from ablate.model.padding import Mask
from ablate.model.position import Heads, Newest, Position, Positions, Tokens
from ablate.model.residual import Residual

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


class Stack(nn.Module):
    """A stack of Transformer layers: positions, dropout, and sub-layers with residual connections.

    Args:
        layers: the sub-layers of each layer, by name.
        order: numbers of the layers in the order in which they act; a layer whose weights are
            shared occurs several times.
        d_model: width of the tokens.
        position: gives the positions of tokens.
        residual: builds the residual connections, given the number of connections.
        block: decides how many sub-layers share a residual connection.
        dropout: dropout probability of the embedded tokens.

    Raises:
        UserError: a sub-layer does not work with the positions.
    """

    # whether nothing, such as a loss or a norm, reads the outputs at padding
    ignores_padding = False

    def __init__(
        self,
        layers: Sequence[Mapping[str, Sublayer]],
        *,
        order: Sequence[int],
        d_model: int,
        position: Position,
        residual: Callable[[int], Residual],
        block: Block,
        dropout: float,
    ) -> None:
        super().__init__()
        self.d_model = d_model
        self.position = position
        self.dropout = Dropout(dropout)
        self.layers = nn.ModuleList(nn.ModuleDict(dict(layer)) for layer in layers)
        self.sizes = [block.sizes(layer) for layer in layers]
        self.residual = residual(sum(len(sizes) for sizes in self.sizes))
        self.order = list(order)
        for sublayer in self.sublayers:
            sublayer.check(position)

    @property
    def sublayers(self) -> list[Sublayer]:
        """All sub-layers in the order in which they act."""
        return [cast("Sublayer", s) for i in self.order for s in self.layers[i].children()]

    @property
    def reads(self) -> list[tuple[int, int]]:
        """The residual connections in order of execution, as (index, number of sub-layers).

        All sub-layers of a connection read the same input, and their outputs are summed.
        """
        first = [sum(len(sizes) for sizes in self.sizes[:i]) for i in range(len(self.sizes))]
        return [(first[i] + j, size) for i in self.order for j, size in enumerate(self.sizes[i])]

    def forward(
        self,
        x: Float[Tensor, "B L D"],
        real: Bool[Tensor, "B L"],
        memory: Memory | None = None,
        positions: Int[Tensor, "#B L"] | None = None,
        prefix: int = 0,
        documents: Int[Tensor, "B L"] | None = None,
    ) -> Float[Tensor, "B L D"]:
        """Return the output of the stack for whole sequences.

        Args:
            x: embedded tokens.
            real: False at padding.
            memory: the encoded source, for a decoder.
            positions: positions of the tokens; None: 0, 1, 2, ...
            prefix: number of tokens at the start of each row that all tokens may read, even under a
                causal mask.
            documents: number of each token's document; tokens attend only within their document.

        Raises:
            UserError: the positions have changed the number of sentences or tokens.
        """
        on_cpu = process.uses_cpu_path(x.device)
        # given positions belong to a source and a target with padding between them
        ignores_padding = self.ignores_padding and positions is None and not on_cpu
        if positions is None or not len(x):
            positions = torch.arange(x.size(1), device=x.device)[None]
        padded = not (on_cpu and bool(real.all()))
        at = LayerContext(
            positions,
            self.position,
            real,
            memory,
            prefix,
            documents,
            earlier=[],
            padded=padded,
            ignores_padding=ignores_padding,
            memo={},
        )
        calls = [partial(sublayer, at=at) for sublayer in self.sublayers]
        embedded = self.position.embed(x, positions)
        if embedded.shape[:2] != x.shape[:2]:  # attention would broadcast it without an error
            raise UserError(
                f"`embed` of model/position ({type(self.position).__name__}) changed the first two "
                f"dimensions (sentences, tokens) from {tuple(x.shape[:2])} to "
                f"{tuple(embedded.shape[:2])}: return embeddings of the same shape"
            )
        return self._run(embedded, at, calls)

    def _run(self, x: Tensor, at: LayerContext, calls: Sequence[partial[Tensor]]) -> Tensor:
        x = to_product_dtype(self.dropout(x))
        stream = self.residual.enter(x, at.real)
        left = iter(calls)
        for i, size in self.reads:
            together = partial(summed, list(islice(left, size)))
            stream = self.residual(i, stream, together, at.real)
        return self.residual.leave(stream, at.real)

    @torch.no_grad()
    def start(self, memory: Memory, beams: int) -> "StackCache":
        """Return the caches before the first step, for `beams` hypotheses of each sentence."""
        slots = Slots(memory.real.size(0), beams, memory.real.device)
        return self._cache(memory, slots)

    @torch.no_grad()
    def start_after(
        self, x: Float[Tensor, "M P D"], real: Bool[Tensor, "M P"], beams: int, *, causal: bool
    ) -> "StackCache":
        """Return the caches of decoding after a prefix that all hypotheses of a sentence share.

        Args:
            x: embedded tokens of the prefix, such as the source of a decoder-only translator.
            real: False at padding.
            beams: number of hypotheses of each sentence.
            causal: True: tokens of the prefix attend only to themselves and to earlier tokens;
                False: to the whole prefix.
        """
        slots = Slots(len(x), beams, x.device)
        cache = self._cache(None, slots)
        slots.begin_prefix(real, causal=causal)
        if x.size(1):
            self._newest(x, cache)
        slots.end_prefix(real)
        return cache

    @torch.no_grad()
    def step(self, x: Float[Tensor, "M N D"], cache: "StackCache") -> Float[Tensor, "M N D"]:
        """Return the output of the stack for the newest token of each hypothesis.

        The tokens are added to the cache.
        """
        cache.slots.begin_step()
        x = self._newest(x, cache)
        cache.slots.end_step()
        return x

    def _cache(self, memory: Memory | None, slots: Slots) -> "StackCache":
        caches = [sublayer.cache(memory, slots) for sublayer in self.sublayers]
        return StackCache(slots, self.position.cache(), caches)

    def _newest(self, x: Tensor, cache: "StackCache") -> Tensor:
        slots = cache.slots
        at = LayerContext(slots.positions, self.position, None, None, earlier=[], memo={})
        self.position.extend(slots.first + slots.length + 1)
        calls = [
            partial(sublayer.step, at=at, slots=slots, cache=sublayer_cache)
            for sublayer, sublayer_cache in zip(self.sublayers, cache.caches, strict=True)
        ]
        return self._run(self.position.step(x, slots.positions, cache.position), at, calls)

    def parameters_by_layer(self) -> Iterator[list[nn.Parameter]]:
        """Yield the parameters of each layer, with the parameters of its norms last.

        A layer that is used several times occurs once.
        """
        numbers = count()
        for layer, sizes in zip(self.layers, self.sizes, strict=True):
            layer_norms = [n for _ in sizes for n in self.residual.norms_of(next(numbers))]
            yield [*layer.parameters(), *(p for norm in layer_norms for p in norm.parameters())]

    def adjust_initial_values(self) -> None:
        """Multiply the initial values of sub-layers by the factors of the residual connections."""
        for layer in self.layers:
            gains: dict[nn.Parameter, float] = {}
            # a shared matrix has several names, of which the smallest factor is applied
            for name, parameter in layer.named_parameters(remove_duplicate=False):
                gains[parameter] = min(self.residual.gain(name), gains.get(parameter, torch.inf))
            for parameter, gain in gains.items():
                if gain != 1:
                    parameter.mul_(gain)


def summed(sublayers: Sequence[Callable[[Tensor], Tensor]], x: Tensor) -> Tensor:
    """Return the sum of the outputs of several sub-layers for the same input x."""
    return reduce(add, (sublayer(x) for sublayer in sublayers))


@dataclass
class StackCache(Cache):
    """The caches of a stack between the steps of decoding."""

    slots: Slots
    position: Cache
    caches: list[Cache]  # one for each sub-layer, in the order in which sub-layers act

    def parts(self) -> list[Cache]:
        """Return the caches of slots, positions and sub-layers."""
        return [self.slots, self.position, *self.caches]
