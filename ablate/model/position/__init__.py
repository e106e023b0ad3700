"""The interface of positions, such as rotary positions, and the option without positions."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from ablate import hardware
from ablate.errors import UserError
from ablate.model import Law
from ablate.model.cache import Cache

Tokens = Float[Tensor, "B L D"]  # for each sentence, a vector for each token
Newest = Float[Tensor, "M N D"]  # for each sentence, the newest token of each hypothesis
Heads = Float[Tensor, "B H L E"]  # for each sentence and head, a vector for each token
Positions = Int[Tensor, "#B L"]  # the position of each token; sentences may share a single row


class Position(nn.Module, ABC):
    """Gives a stack the positions of its tokens; encoder and decoder have one object each.

    Built as `position(d_model=...)`. Positions can act on the embeddings (`embed`, and `step` in
    decoding), on the input of every self-attention (`within`), on queries and keys (`rotate`), and
    on attention scores (`bias`). An option overrides the methods that it needs. Positions are
    passed as arguments and not derived from shapes, because in decoding the tokens of several
    hypotheses are in one row. The scale of embeddings and dropout are separate factors.
    """

    breaks: ClassVar[frozenset[Law]] = frozenset()

    @property
    def longest(self) -> int | None:
        """The largest number of positions that a sequence may have; None: there is no limit."""
        return None

    def check_heads(self, d_head: int) -> None:
        """Raise UserError if `rotate` cannot rotate heads of this width."""
        return

    def extend(self, length: int) -> None:  # noqa: B027
        """Make sure that positions 0 to length - 1 have vectors, if the vectors are fixed."""

    def embed(self, x: Tokens, positions: Positions) -> Tensor:
        """Return the input of the stack: the embeddings, with positions added."""
        return x

    def cache(self) -> Cache:
        """Return the cache of decoding that `step` needs, before the first step."""
        return Cache()

    def step(self, x: Newest, positions: Int[Tensor, "#M N"], cache: Any) -> Tensor:
        """Return the input of the stack for the newest token of each hypothesis.

        There are N hypotheses of each of M sentences.
        """
        return self.embed(x, positions)

    def within(self, x: Tokens, positions: Positions) -> Tensor:
        """Return the input of self-attention in every layer: the tokens x, with positions added."""
        return x

    def prepare(self, positions: Positions, d_head: int, dtype: torch.dtype) -> Any:
        """Return what `rotate` receives as positions; all layers of a stack share the result."""
        return positions

    def rotate(self, heads: Heads, positions: Any) -> Tensor:
        """Return queries or keys of self-attention, rotated by their positions.

        `positions` is the result of `prepare`.
        """
        return heads

    def bias(
        self, n_heads: int, queries: Int[Tensor, "#B Q"], keys: Int[Tensor, "#B K"]
    ) -> Float[Tensor, "#B H #Q #K"] | None:
        """Return the bias that positions add to the scores of self-attention; None: no bias."""
        return None


class FixedVectors(Position):
    """Positions that add a fixed vector to each token, from a table that grows when needed."""

    table: Tensor

    def __init__(self, *, d_model: int) -> None:
        super().__init__()
        self.register_buffer("table", self.vectors(512, d_model), persistent=False)

    @abstractmethod
    def vectors(self, length: int, d_model: int) -> Float[Tensor, "L D"]:
        """Return the vectors of positions 0 to length - 1, which do not depend on `length`."""

    def embed(self, x: Tokens, positions: Positions) -> Tokens:
        """Return x plus the vector of each position."""
        on_cpu = hardware.uses_cpu_path(positions.device)
        self.extend(int(positions.max()) + 1 if on_cpu else positions.size(1))
        return x + self.table[positions]

    def extend(self, length: int) -> None:
        """Make sure that positions 0 to length - 1 have vectors."""
        if length > self.table.size(0):
            self.table = self.vectors(2 * length, self.table.size(1)).to(self.table)


class OfVectors(Position):
    """Positions that use the fixed or learned vectors of another option in a new way.

    Args:
        level: this option of model/position, for the message.
        of: the other option, whose method `embed` adds a vector to each token.

    Raises:
        UserError: `of` adds no vectors, or its output depends on earlier tokens.
    """

    def __init__(self, level: str, of: Position) -> None:
        super().__init__()
        kind = type(of)
        if kind.embed is Position.embed or kind.step is not Position.step:
            raise UserError(
                f"model.position.of is {kind.__name__}: model/position={level} needs positions "
                "that are vectors, such as model/position@model.position.of=learned"
            )
        self.of = of

    def extend(self, length: int) -> None:
        """Make sure that positions 0 to length - 1 have vectors."""
        self.of.extend(length)

    @property
    def longest(self) -> int | None:
        """The largest number of positions that have vectors; None: there is no limit."""
        return self.of.longest


class NoPosition(Position):
    """No positions.

    An option without positions: embeddings stay unchanged.

    Equation: x[pos].
    Source: arXiv:2203.16634 (what models without positions can and cannot learn).
    What differs: nothing is added in either stack.
    What to expect: the encoder sees a bag of words. The decoder can still infer the number of
        earlier tokens from its causal mask. BLEU is lower for languages in which word order carries
        meaning.
    """

    def __init__(self, *, d_model: int) -> None:
        super().__init__()
