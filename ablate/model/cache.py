"""What decoding remembers of `beams` hypotheses of each sentence: row = sentence * beams + beam."""

from typing import Protocol, runtime_checkable

from jaxtyping import Float, Int
from torch import Tensor


@runtime_checkable
class Cache(Protocol):
    """What a part of a model remembers between the steps."""

    def reorder(self, rows: Int[Tensor, " R"]) -> None:
        """Let row i go on from what row `rows[i]`, of the same sentence, has decoded."""

    def keep(self, sentences: Int[Tensor, " M"]) -> None:
        """Drop all sentences but these, with all their rows."""


class Nothing:
    """The cache of what looks at one token at a time."""

    def reorder(self, rows: Int[Tensor, " R"]) -> None:
        """Do nothing."""

    def keep(self, sentences: Int[Tensor, " M"]) -> None:
        """Do nothing."""


class State:
    """A tensor of the past for each hypothesis; None before the first step."""

    def __init__(self) -> None:
        self.value: Float[Tensor, "M N *shape"] | None = None

    def reorder(self, rows: Int[Tensor, " R"]) -> None:
        """Let row i go on from what row `rows[i]` has decoded."""
        if self.value is not None:
            self.value = self.value.flatten(0, 1).index_select(0, rows).view_as(self.value)

    def keep(self, sentences: Int[Tensor, " M"]) -> None:
        """Drop all sentences but these."""
        if self.value is not None:
            self.value = self.value.index_select(0, sentences)
