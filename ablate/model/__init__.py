"""Define the laws, which tests check for every component, and all models.

A factor of a Transformer, such as its norm, has a module, or a package of modules, with the
interface of its options and all options. A component for which a law does not hold lists the law in
its attribute `breaks`.

Letters of shapes in annotations: B batch, S source length, T target length, L either length, Q/K
query/key length, H heads, E width of a head, W width of a value, D d_model, F d_ff, V vocabulary, N
rows of a flat list, M sentences, R decoder rows (a row for each hypothesis of each sentence). Masks
are boolean and called `keep`: True = may attend.
"""

from enum import Enum


class Law(Enum):
    """A property of a whole model that tests check for every option of every component."""

    NO_FUTURE = "a changed target token changes nothing before it"
    SOURCE_PADDING = "more padding on the source changes nothing at real positions"
    TARGET_PADDING = "more padding on the target changes nothing at real positions"
    STEPWISE = "decoding step by step with caches equals one parallel pass"
    INITIAL_VALUES = "parameters that it shares with the base start at the same values"


WITHOUT_CAUSAL_MASK = frozenset({Law.NO_FUTURE, Law.STEPWISE})
