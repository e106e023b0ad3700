"""Random pairs to memorise.

Equation: y_t uniform of `symbols` words, drawn once for each of `n_train` sources.
Source: arXiv:1611.03530, section 2 (networks fit random labels).
What differs: tokens in place of labels. Validation and test are the first pairs of train, because
    other random pairs cannot be predicted.
What to expect: success depends on the number of parameters and steps. Chance: a predictor that
    ignores the source and knows the length. Bound: 0 nats, with all pairs of train memorised.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Annotated

from ablate.config.limits import Count, Range
from experiments.shared.corpus.rule import Choose, Level, Synthetic, Words, named, require, unread


@dataclass(kw_only=True)
class Memorise(Synthetic):
    """A corpus of random pairs: source and target are random words, and no source has two targets.

    Args:
        length: number of words in each source and each target.
        symbols: number of different words.

    Raises:
        UserError: validation or test has more pairs than train, or there are too few different
            sources.
    """

    length: Count
    symbols: Annotated[int, Range(2)]

    def __post_init__(self) -> None:
        tested = max(self.n_validation, self.n_test)
        require(
            tested <= self.n_train,
            f"data.n_train={self.n_train} is below data.n_validation or data.n_test ({tested}), "
            "but what is tested here is what was learned.",
        )
        require(
            2 * self.n_train <= self.symbols**self.length,
            f"data.n_train={self.n_train} is more than half of the sources that data.symbols="
            f"{self.symbols} and data.length={self.length} give.",
        )

    def pair(self, choose: Choose) -> tuple[Words, Words]:
        """Return two independent random sequences."""
        src, tgt = ([choose(self.symbols) for _ in range(self.length)] for _ in range(2))
        return named("s", src), named("s", tgt)

    def stream(self, split: str) -> Iterator[tuple[str, str]]:
        """Yield random sentence pairs without end, in the same order for every split.

        Validation and test therefore repeat the first pairs of train. No source occurs twice in the
        stream.
        """
        choose, seen = Random(str(self.seed)).randrange, set[str]()
        while True:
            src, tgt = (" ".join(words) for words in self.pair(choose))
            if src not in seen:
                seen.add(src)
                yield src, tgt

    def chance(self) -> Level:
        """Return the mean nll and accuracy of a predictor that ignores the source."""
        return unread(self.length, self.length, self.symbols)
