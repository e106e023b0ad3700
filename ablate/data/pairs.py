"""Parallel text: what every corpus gives."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, NamedTuple


class Pairs(NamedTuple):
    """Sentences and their translations; line i of `src` belongs to line i of `tgt`.

    Lists will do. Of a large corpus the lines are better read when they are asked for.
    """

    src: Sequence[str]
    tgt: Sequence[str]


class Corpus(ABC):
    """A corpus with named splits, parallel unless it has `documents`."""

    documents: ClassVar[bool] = False  # whether it is one of `ablate.data.documents`

    @property
    @abstractmethod
    def languages(self) -> tuple[str, str]:
        """Codes of the source and the target language."""

    @property
    @abstractmethod
    def splits(self) -> tuple[str, ...]:
        """Names of the splits; train, validation and test are always among them."""

    @abstractmethod
    def read(self, split: str) -> Pairs:
        """Return the raw lines of a split.

        Raises:
            UserError: the split does not exist, or its text is not usable.
        """

    def groups(self, split: str) -> Sequence[str] | None:
        """Names of what the lines of a split come from, such as documents; None: each its own.

        Lines of one group are alike, so that an interval over test sentences must count groups.

        Raises:
            UserError: they are not one per line.
        """
        return None

    @abstractmethod
    def fingerprint(self) -> str:
        """Return a hash of everything that can change the text of any split."""

    def levels(self) -> dict[str, float]:
        """Return what is known of the text: chance/nll, bound/nll and the same of accuracy.

        Nothing, unless a rule has made it (`ablate.data.rule`).
        """
        return {}
