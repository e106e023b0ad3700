"""The seam of positions."""

from abc import ABC
from typing import ClassVar

from jaxtyping import Float, Int
from torch import Tensor, nn

from ablate.model.laws import Law


class Position(nn.Module, ABC):
    """Tells a stack where each token stands; encoder and decoder have one each.

    Built as `position(d_model=...)`. There are three places where positions may act, and a variant
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

    def rotate(self, heads: Float[Tensor, "B H L E"], positions: Int[Tensor, "#B L"]) -> Tensor:
        """Return queries or keys of self-attention, turned by their positions."""
        return heads

    def bias(
        self, n_heads: int, queries: Int[Tensor, "#B Q"], keys: Int[Tensor, "#B K"]
    ) -> Float[Tensor, "#B H #Q #K"] | None:
        """Return what is added to the scores of self-attention, given positions on both sides."""
        return None
