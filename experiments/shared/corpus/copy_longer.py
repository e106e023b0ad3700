"""Copy sources longer than any in training.

Equation: as `copy`; in test_long n is uniform from `beyond` to `farthest`.
Source: arXiv:2108.12409 (train short, test long); copying beyond trained lengths arXiv:2305.19466.
What differs: only the length: words and rule are the same at all lengths. A corpus with a larger
    `longest` has the same test_long, so a model trained on such lengths shows the attainable score.
What to expect: the rule is the same, but positions beyond `longest` and answers of this length
    never occur in training. Chance and bound are those of train, validation and test.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from ablate.config.limits import Count
from experiments.shared.corpus.copy import Copy
from experiments.shared.corpus.rule import require


@dataclass(kw_only=True)
class CopyLonger(Copy):
    """The copy task with a split of longer sources.

    Args:
        beyond: smallest number of words in a source of the split test_long.
        farthest: largest number of words in a source of the split test_long.
        n_test_long: number of pairs in the split test_long.

    Raises:
        UserError: `shortest` is above `longest`, or `beyond` above `farthest`.
    """

    only_tested = ("n_test", "n_test_long", "beyond", "farthest")

    beyond: Count
    farthest: Count
    n_test_long: Count

    def __post_init__(self) -> None:
        super().__post_init__()
        require(
            self.beyond <= self.farthest,
            f"data.beyond={self.beyond} is above data.farthest={self.farthest}.",
        )

    def sizes(self) -> dict[str, int]:
        """Return the number of pairs of each split."""
        return {**super().sizes(), "test_long": self.n_test_long}

    def stream(self, split: str) -> Iterator[tuple[str, str]]:
        """Yield source and target pairs of a split without end; no source of test_long occurs in
        train.
        """
        if split != "test_long":
            return super().stream(split)
        return self._long().stream("test")

    def _long(self) -> Copy:
        lengths = {"shortest": self.beyond, "longest": self.farthest}
        sizes = {"n_train": 1, "n_validation": 1, "n_test": self.n_test_long}
        return Copy(seed=self.seed, symbols=self.symbols, **lengths, **sizes)
