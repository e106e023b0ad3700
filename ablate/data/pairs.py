"""Parallel text: what every corpus gives."""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, NamedTuple

TRAINED = ("train", "validation")  # splits that a training reads


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

    @property
    def files(self) -> tuple[str, ...]:
        """Names of the files that train is from; none where a rule makes the text."""
        return ()

    @property
    def division(self) -> str:
        """How validation and test were made of train; "" where they have text of their own."""
        return ""

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
        """Return a hash of everything that can change the text of train or validation.

        Trained runs are found again by it. It may cover other splits too: then a change of a test
        trains anew.
        """

    def test_fingerprint(self, split: str) -> str:
        """Return a hash of what can change the text of a split that only tests read.

        "" where `fingerprint` covers it.
        """
        return ""

    def levels(self) -> dict[str, float]:
        """Return what is known of the text: chance/nll, bound/nll and the same of accuracy.

        Nothing, unless a rule has made it.
        """
        return {}


def fingerprint_of_test(corpus: Corpus, split: str) -> str:
    """Return a hash of what a test of a split reads and training does not; "" if it is nothing.

    Raises:
        UserError: the groups of the split are not one per line.
    """
    text = "" if split in TRAINED else corpus.test_fingerprint(split)
    groups = corpus.groups(split)
    if not text and groups is None:
        return ""
    return hashlib.sha256(repr((text, groups and [*groups])).encode()).hexdigest()
