"""Caches of step-by-step decoding.

Each sentence has `beams` hypotheses. Hypothesis number `beam` of sentence number `sentence` is in
row `sentence * beams + beam`.
"""

from collections.abc import Iterable

from jaxtyping import Float, Int
from torch import Tensor


class Cache:
    """Data that a component of a model stores between the steps of decoding.

    The class itself stores nothing, for a component that needs no past tokens. A subclass with data
    overrides `reorder` and `keep`; a subclass of several caches overrides `parts`.
    """

    def parts(self) -> "Iterable[Cache]":
        """Return the caches that this cache consists of."""
        return ()

    def reorder(self, rows: Int[Tensor, " R"]) -> None:
        """Replace the state of row i by the state of row `rows[i]` of the same sentence."""
        for part in self.parts():
            part.reorder(rows)

    def keep(self, sentences: Int[Tensor, " M"]) -> None:
        """Keep the rows of the given sentences and drop all other rows.

        `sentences` has the numbers of the sentences, counted from 0 in the present cache.
        """
        for part in self.parts():
            part.keep(sentences)


class State(Cache):
    """A cache of one tensor, `value`, which is None before the first step.

    The first two dimensions of `value` are the sentences and the hypotheses of a sentence.
    """

    def __init__(self) -> None:
        self.value: Float[Tensor, "M N *shape"] | None = None

    def reorder(self, rows: Int[Tensor, " R"]) -> None:
        """Replace the state of row i by the state of row `rows[i]`."""
        if self.value is not None:
            self.value = self.value.flatten(0, 1).index_select(0, rows).view_as(self.value)

    def keep(self, sentences: Int[Tensor, " M"]) -> None:
        """Keep the rows of the given sentences and drop all other rows."""
        if self.value is not None:
            self.value = self.value.index_select(0, sentences)
