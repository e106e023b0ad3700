"""The built-in corpus: two invented languages, Mirel and Sodak, made from one grammar.

Read in this order: `lexicon` (the words), `grammar` (what a sentence means, and how either language
puts it into words), and the splits below. `python -m lab.toy` prints one pair of each construction.
"""

import hashlib
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any
from zlib import crc32

from ablate.config.limits import Seed
from ablate.data import TRAINED, Corpus, Pairs, check_split
from ablate.data.toy.grammar import MIREL, SODAK, Habits, Speaker
from ablate.data.toy.lexicon import text
from ablate.errors import UserError

USUAL = Habits()
LONG = Habits(depth=4, second_clause=0.5, content=0.3, relative=0.4)  # for test_long
WORDS = range(8, 25)  # what `max_words` may be: below, sentences run out; above, long ones do


class Toy(Corpus):
    """Mirel (source) and Sodak (target), two invented languages.

    No sentence is in two splits: a hash of the Mirel sentence says whether it may serve for
    training, validation or test. So no split depends on the size of another, and a smaller train
    is the beginning of a larger one. Short sentences repeat in train, and nowhere else.

    Args:
        seed: of the sentences; the two languages are always the same.
        n_train, n_validation, n_test, n_test_long: sentence pairs of each split.
        max_words: longest sentence, in words of either language, of all splits but test_long,
            whose sentences have more words in both languages, and at most twice as many.

    Raises:
        UserError: a size below 1, or a `max_words` out of range.
    """

    def __init__(
        self,
        *,
        seed: Seed,
        n_train: int,
        n_validation: int,
        n_test: int,
        n_test_long: int,
        max_words: int,
    ) -> None:
        self._sizes = {
            "train": n_train,
            "validation": n_validation,
            "test": n_test,
            "test_long": n_test_long,
        }
        for split, size in self._sizes.items():
            if size < 1:
                raise UserError(f"data.n_{split} is {size}; it must be 1 or more.")
        if max_words not in WORDS:
            raise UserError(
                f"data.max_words is {max_words}; it must be from {WORDS[0]} to {WORDS[-1]}."
            )
        self._seed, self._max_words = seed, max_words

    @property
    def languages(self) -> tuple[str, str]:
        """Codes out of the range that ISO 639 leaves to private use."""
        return "qmi", "qso"

    @property
    def splits(self) -> tuple[str, ...]:
        """Names of the splits."""
        return tuple(self._sizes)

    def read(self, split: str) -> Pairs:
        """Return a split, whose sentences are generated when they are first read.

        Raises:
            UserError: there is no such split.
        """
        check_split(split, self.splits, "data=toy")
        drawn, stream = list[tuple[str, str]](), self._stream(split)
        return Pairs(*(Side(drawn, stream, side, self._sizes[split]) for side in (0, 1)))

    def fingerprint(self) -> str:
        """Return a hash of the settings of train and validation and of this package's source."""
        sizes = {split: self._sizes[split] for split in TRAINED}
        settings = (self._seed, self._max_words, *sizes.items())
        content = hashlib.sha256(repr(settings).encode())
        for module in sorted(Path(__file__).parent.glob("*.py")):
            content.update(module.read_bytes())
        return content.hexdigest()

    def split_fingerprint(self, split: str) -> str:
        """Return the size of a split: no other setting acts on a test alone."""
        return f"{self._sizes[split]} pairs"

    def _stream(self, split: str) -> Iterator[tuple[str, str]]:
        """Yield the pairs of a split without end."""
        habits = LONG if split == "test_long" else USUAL
        speaker = Speaker(habits, Random(f"{self._seed} {split}"))
        seen = set()
        while True:
            meaning = speaker.sentence()
            source = MIREL.sentence(meaning)
            src = text(source)
            if src in seen or split not in ("test_long", _home(src)):
                continue
            target = SODAK.sentence(meaning)
            if not self._fits(split, *sorted((len(source), len(target)))):
                continue
            if split != "train":
                seen.add(src)
            yield src, text(target)

    def _fits(self, split: str, shorter: int, longer: int) -> bool:
        if split == "test_long":
            return shorter > self._max_words and longer <= 2 * self._max_words
        return longer <= self._max_words


class Side(Sequence[str]):
    """The sentences of one language of a split.

    Args:
        drawn: the pairs that were generated so far; both sides share this list.
        stream: iterator of the pairs that follow.
        side: 0 for sources, 1 for targets.
        count: number of pairs of the split.
    """

    def __init__(
        self, drawn: list[tuple[str, str]], stream: Iterator[tuple[str, str]], side: int, count: int
    ) -> None:
        self._drawn, self._stream = drawn, stream
        self._side, self._numbers = side, range(count)

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[number] for number in self._numbers[index]]
        number = self._numbers[index]
        self._drawn += islice(self._stream, max(0, number + 1 - len(self._drawn)))
        return self._drawn[number][self._side]


def _home(src: str) -> str:
    """Return the split that a sentence belongs to: three of five are for training."""
    return {0: "validation", 1: "test"}.get(crc32(src.encode()) % 5, "train")
