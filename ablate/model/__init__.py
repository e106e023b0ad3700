"""Define all models, the laws, which tests check for every component, and caches of decoding.

A factor of a Transformer, such as its norm, has a module, or a package of modules, with the
interface of its options and all options. A component for which a law does not hold lists the law in
its attribute `breaks`.

Letters of shapes in annotations: B batch, S source length, T target length, L either length, Q/K
query/key length, H heads, E width of a head, W width of a value, D d_model, F d_ff, V vocabulary, N
rows of a flat list, M sentences, R decoder rows (a row for each hypothesis of each sentence). Masks
are boolean and called `keep`: True = may attend.
"""

from collections.abc import Iterable
from enum import Enum

from jaxtyping import Float, Int
from torch import Tensor


class Law(Enum):
    """A property of a whole model that tests check for every option of every component."""

    NO_FUTURE = "a changed target token changes nothing before it"
    SOURCE_PADDING = "more padding on the source changes nothing at real positions"
    TARGET_PADDING = "more padding on the target changes nothing at real positions"
    STEPWISE = "decoding step by step with caches equals one parallel pass"
    INITIAL_VALUES = "parameters that it shares with the base start at the same values"


WITHOUT_CAUSAL_MASK = frozenset({Law.NO_FUTURE, Law.STEPWISE})


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
