"""Recall the value of a key, at a distance.

Equation: y = v_i for the key k_i at the end of the source; before it stand `pairs` pairs k_j v_j of
    different keys and different values, and `distance` filler words.
Source: arXiv:1610.06258, section 4.1 (associative retrieval).
What differs: a distance between pairs and query; values are different; keys and values are words.
What to expect: a state of fixed size can store a limited number of pairs, attention any number.
    Chance: a predictor that knows the words of the source but not their order. Bound: 0 nats.
"""

from dataclasses import dataclass
from math import log
from typing import Annotated

from ablate.config.limits import Count, Range
from experiments.shared.corpus.rule import (
    Choose,
    Level,
    Synthetic,
    Words,
    answer,
    distinct,
    named,
    require,
)


@dataclass(kw_only=True)
class Recall(Synthetic):
    """A synthetic corpus in which the source has pairs of a key and a value and then one of the
    keys, and the target is the value of this key.

    Args:
        pairs: number of pairs of a key and a value in a source.
        keys: number of different keys.
        values: number of different values.
        distance: number of filler words between the last pair and the key at the end.

    Raises:
        UserError: there are fewer keys or values than pairs.
    """

    pairs: Count
    keys: Count
    values: Count
    distance: Annotated[int, Range(0)]

    def __post_init__(self) -> None:
        require(
            self.pairs <= min(self.keys, self.values),
            f"data.pairs={self.pairs} is above data.keys={self.keys} or data.values={self.values}, "
            "but the keys of a source are different, and so are its values.",
        )

    def pair(self, choose: Choose) -> tuple[Words, Words]:
        """Return pairs, filler words and a key as source, and the value of the key as target."""
        keys = named("k", distinct(choose, self.keys, self.pairs))
        values = named("v", distinct(choose, self.values, self.pairs))
        at = choose(self.pairs)
        entries = [word for entry in zip(keys, values, strict=True) for word in entry]
        return [*entries, *["gap"] * self.distance, keys[at]], [values[at]]

    def chance(self) -> Level:
        """Return the mean nll and accuracy of a predictor that knows the words of the source but
        not their order.
        """
        return answer(log(self.pairs), 1 / self.pairs)
