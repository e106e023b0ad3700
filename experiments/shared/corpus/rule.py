"""The interface of synthetic corpora: a rule that draws pairs of source and target, and the scores
of two reference predictors.
"""

import ast
import hashlib
import inspect
from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from itertools import islice
from math import log
from pathlib import Path
from random import Random
from typing import ClassVar, NamedTuple
from zlib import crc32

from ablate.config.limits import Count, Seed
from ablate.data import Corpus, Pairs
from ablate.errors import UserError
from ablate.record.identity import tree_hash

PATIENCE = 10_000  # number of consecutive draws for other splits before an error

Choose = Callable[[int], int]  # maps n to a uniform random number in 0 .. n - 1
Words = list[str]


class Level(NamedTuple):
    """The nll and accuracy of a reference predictor of targets, given the source and the preceding
    target tokens.

    Both values are means over target tokens including EOS, comparable with `val/nll` and
    `test/accuracy`. They refer to the distribution of pairs; a split is a sample of this
    distribution.
    """

    nll: float  # nats per token
    accuracy: float  # fraction of tokens that are predicted correctly


PERFECT = Level(0.0, 1.0)


@dataclass(kw_only=True)
class Synthetic(Corpus):
    """A corpus of sentence pairs drawn by a rule; each access generates the pairs again from
    `seed`.

    A hash of each source assigns the source to one split, about three of five sources to train.
    Therefore no source occurs in two splits, and no split depends on the size of another split. A
    source may occur several times in one split.

    Args:
        seed: seed of the sentence pairs; the seed of the run does not change them.
        n_train: number of training pairs.
        n_validation: number of validation pairs.
        n_test: number of test pairs.
    """

    only_tested: ClassVar[tuple[str, ...]] = ("n_test",)  # settings that training does not read

    seed: Seed
    n_train: Count
    n_validation: Count
    n_test: Count

    @abstractmethod
    def pair(self, choose: Choose) -> tuple[Words, Words]:
        """Return the words of a source and of its target, using only `choose` as source of
        randomness.
        """

    @abstractmethod
    def chance(self) -> Level:
        """Return the nll and accuracy of the best predictor without the skill that the corpus
        tests; the module docstring describes this predictor.
        """

    def bound(self) -> Level:
        """Return the nll and accuracy of the best possible predictor."""
        return PERFECT

    @property
    def languages(self) -> tuple[str, str]:
        """Language codes of source and target, from the private range of ISO 639."""
        return "qsa", "qsb"

    @property
    def splits(self) -> tuple[str, ...]:
        """Names of the splits."""
        return tuple(self.sizes())

    def sizes(self) -> dict[str, int]:
        """Return the number of pairs of each split."""
        return {"train": self.n_train, "validation": self.n_validation, "test": self.n_test}

    def read(self, split: str) -> Pairs:
        """Generate and return a split.

        Raises:
            UserError: there is no such split, or the rule has too few sources to fill it.
        """
        sizes = self.sizes()
        if split not in sizes:
            raise UserError(
                f"There is no split {split!r} in this corpus; it has {', '.join(sizes)}."
            )
        src, tgt = zip(*islice(self.stream(split), sizes[split]), strict=True)
        return Pairs(list(src), list(tgt))

    def stream(self, split: str) -> Iterator[tuple[str, str]]:
        """Yield source and target texts of a split without end.

        Raises:
            UserError: too many random sources in succession belong to other splits.
        """
        choose, missed = Random(f"{self.seed} {split}").randrange, 0
        while missed < PATIENCE:
            src, tgt = (" ".join(words) for words in self.pair(choose))
            missed += 1
            if _home(src) == split:
                missed = 0
                yield src, tgt
        raise UserError(
            f"data: these settings give too few different sources to have any in {split}; "
            "make the sources longer, or let them use more different words."
        )

    def theoretical_scores(self) -> dict[str, float]:
        """Return the scores of the chance and bound predictors, under names such as chance/nll and
        bound/accuracy.
        """
        every = {"chance": self.chance(), "bound": self.bound()}
        return {f"{n}/{key}": v for n, level in every.items() for key, v in level._asdict().items()}

    def fingerprint(self) -> str:
        """Return a hash of the settings that affect training (all except `only_tested`), and of the
        source code of this class and its base classes.
        """
        settings = {f.name: getattr(self, f.name) for f in fields(self)}
        read = {name: value for name, value in settings.items() if name not in self.only_tested}
        content = hashlib.sha256(repr((type(self).__qualname__, read)).encode())
        for base in reversed(type(self).__mro__):
            if issubclass(base, Synthetic):
                tree = ast.parse(Path(inspect.getfile(base)).read_bytes())
                content.update(tree_hash(tree).encode())
        return content.hexdigest()

    def split_fingerprint(self, split: str) -> str:
        """Return as text the settings that affect only test splits."""
        return repr({name: getattr(self, name) for name in self.only_tested})


def _home(src: str) -> str:
    """Return the name of the split to which a source belongs, by a hash of the source."""
    return {0: "validation", 1: "test"}.get(crc32(src.encode()) % 5, "train")


def distinct(choose: Choose, n: int, k: int) -> list[int]:
    """Return k different random numbers from 0 to n - 1."""
    left = list(range(n))
    return [left.pop(choose(len(left))) for _ in range(k)]


def named(letter: str, numbers: list[int]) -> Words:
    """Return a word for each number: the letter followed by the number."""
    return [f"{letter}{number}" for number in numbers]


def answer(nll: float, accuracy: float) -> Level:
    """Return the scores of a predictor for targets of one word and EOS; the EOS is always predicted
    correctly.

    Args:
        nll: nll of the word, in nats.
        accuracy: probability that the word is predicted correctly.
    """
    return Level(nll / 2, (accuracy + 1) / 2)


def unread(shortest: int, longest: int, symbols: int) -> Level:
    """Return the scores of the best predictor that ignores the source, for targets of uniform
    words.

    Args:
        shortest, longest: smallest and largest number of words in a target; all numbers between
            them are equally likely.
        symbols: size of the alphabet.
    """
    lengths = longest - shortest + 1
    tokens = (shortest + longest) / 2 + 1
    nats = log(lengths) + (tokens - 1) * log(symbols)
    # After n words, EOS has probability 1 / lengths, and each word an equal part of the rest.
    words = [(longest - n) / lengths / symbols for n in range(shortest, longest + 1)]
    right = shortest / symbols + sum(max(1 / lengths, word) for word in words)
    return Level(nats / tokens, right / tokens)


def require(fits: bool, sentence: str) -> None:
    """Raise UserError with the message `sentence` unless `fits` is true."""
    if not fits:
        raise UserError(sentence)
