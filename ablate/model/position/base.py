"""The seam of positions."""

from abc import ABC
from typing import Any, ClassVar

from jaxtyping import Float, Int
from torch import Tensor, nn

from ablate.errors import UserError
from ablate.model.cache import Cache, Nothing
from ablate.model.laws import Law


class Position(nn.Module, ABC):
    """Tells a stack where each token stands; encoder and decoder have one each.

    Built as `position(d_model=...)`. There are four places where positions may act, and a variant
    overrides those that it uses. Positions are given, not counted from shapes: in decoding the
    tokens of several hypotheses stand side by side. The scale of embeddings and dropout are
    factors of their own.
    """

    breaks: ClassVar[frozenset[Law]] = frozenset()

    @property
    def longest(self) -> int | None:
        """Tokens of the longest sequence that has positions; None: there is no limit."""
        return None

    def check_heads(self, d_head: int) -> None:
        """Raise UserError where `rotate` cannot turn heads of this width."""
        return

    def embed(self, x: Float[Tensor, "B L D"], positions: Int[Tensor, "#B L"]) -> Tensor:
        """Return the embeddings with positions, as they enter the stack."""
        return x

    def cache(self) -> Cache:
        """Return what `step` has to remember, before the first step."""
        return Nothing()

    def step(self, x: Float[Tensor, "M N D"], positions: Int[Tensor, "#M N"], cache: Any) -> Tensor:
        """Return the embeddings of the newest tokens of N hypotheses, as they enter the stack."""
        return self.embed(x, positions)

    def within(self, x: Float[Tensor, "B L D"], positions: Int[Tensor, "#B L"]) -> Tensor:
        """Return the tokens that self-attention reads, with positions, in every layer."""
        return x

    def rotate(self, heads: Float[Tensor, "B H L E"], positions: Int[Tensor, "#B L"]) -> Tensor:
        """Return queries or keys of self-attention, turned by their positions."""
        return heads

    def bias(
        self, n_heads: int, queries: Int[Tensor, "#B Q"], keys: Int[Tensor, "#B K"]
    ) -> Float[Tensor, "#B H #Q #K"] | None:
        """Return what is added to the scores of self-attention, given positions on both sides."""
        return None


def vectors(level: str, of: Position) -> Position:
    """Return positions whose `embed` adds a vector to each token.

    Raises:
        UserError: theirs does nothing, or needs the tokens before.
    """
    kind = type(of)
    if kind.embed is Position.embed or kind.step is not Position.step:
        raise UserError(
            f"model.position.of is {kind.__name__}: model/position={level} needs positions that "
            "are vectors, such as model/position@model.position.of=learned"
        )
    return of
