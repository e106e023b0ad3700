"""Properties, called laws, that tests check for every component.

A component for which a law does not hold lists the law in its attribute `breaks`.
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
