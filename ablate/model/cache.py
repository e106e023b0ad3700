"""Caches of step-by-step decoding.

Each sentence has `beams` hypotheses. The hypothesis `beam` of a sentence has the row sentence *
beams + beam.
"""

from typing import Protocol, runtime_checkable

from jaxtyping import Float, Int
from torch import Tensor


@runtime_checkable
class Cache(Protocol):
    """Data that a component of a model stores between the steps of decoding."""

    def reorder(self, rows: Int[Tensor, " R"]) -> None:
        """Replace the state of row i by that of row `rows[i]` of the same sentence."""

    def keep(self, sentences: Int[Tensor, " M"]) -> None:
        """Keep all rows of the given sentences and drop all others."""


class Nothing:
    """An empty cache, for a component that needs no past tokens."""

    def reorder(self, rows: Int[Tensor, " R"]) -> None:
        """Do nothing, because this cache has no state to reorder."""

    def keep(self, sentences: Int[Tensor, " M"]) -> None:
        """Do nothing, because this cache has no state of any sentence."""


class State:
    """A cache of one tensor with a row for each hypothesis; None before the first step."""

    def __init__(self) -> None:
        self.value: Float[Tensor, "M N *shape"] | None = None

    def reorder(self, rows: Int[Tensor, " R"]) -> None:
        """Replace the state of row i by that of row `rows[i]`."""
        if self.value is not None:
            self.value = self.value.flatten(0, 1).index_select(0, rows).view_as(self.value)

    def keep(self, sentences: Int[Tensor, " M"]) -> None:
        """Keep all rows of the given sentences and drop all others."""
        if self.value is not None:
            self.value = self.value.index_select(0, sentences)
