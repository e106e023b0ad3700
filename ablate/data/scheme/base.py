"""How text becomes pieces: the part that all vocabularies share.

A line is marked before it is cut: every space becomes MARK and one more MARK goes in front, so
`a man.` is cut into `MARK a`, `MARK man`, `.`. Joining the pieces and turning MARK back into a
space gives the line back exactly, double spaces included. MARK is a line feed because no line
holds one: nothing in a text can be mistaken for it, or for a special token.
"""

import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Annotated

from tokenizers import Tokenizer, normalizers, pre_tokenizers
from tokenizers.models import Model
from tokenizers.trainers import Trainer

from ablate.config.limits import Range
from ablate.data.progress import progress
from ablate.data.vocabulary import SPECIALS
from ablate.errors import UserError

MARK = "\n"
RESERVED = [f"{name}{MARK}" for name in SPECIALS]  # MARK only begins a piece, so none is like these
UNLIMITED = 1 << 20  # the library reserves memory for the size it is asked for
CHUNK = 10_000  # lines handed to the library at a time
MANY_LINES = 200_000  # from here on the library shows its own bars as well


class Scheme(ABC):
    """A kind of vocabulary and its size.

    `vocab_size` counts the four special ids; null is as many pieces as the text gives (up to a
    million). `joint` is whether the two languages share one vocabulary; if not, each has one of
    `vocab_size`.
    """

    def __init__(self, *, vocab_size: Annotated[int | None, Range(1)], joint: bool):
        self.vocab_size = vocab_size
        self.joint = joint

    @abstractmethod
    def model(self) -> Model:
        """Return the library's model, untrained."""

    @abstractmethod
    def trainer(self, size: int) -> Trainer:
        """Return the library's trainer for at most `size` pieces, RESERVED first among them."""

    def cut(self) -> pre_tokenizers.PreTokenizer:
        """Return the first cut, which no piece crosses: before each space, around punctuation."""
        before_spaces = pre_tokenizers.Split(MARK, "merged_with_next")
        return pre_tokenizers.Sequence([before_spaces, pre_tokenizers.Punctuation("isolated")])

    def smallest(self, texts: Sequence[Sequence[str]]) -> int:
        """Return the smallest possible vocabulary; one that needs all characters says so here."""
        return len(SPECIALS) + 1

    def settle(self, tokenizer: Tokenizer) -> Tokenizer:
        """Remove what chance has left in a trained tokenizer; by default there is nothing."""
        return tokenizer

    def signature(self) -> str:
        """Return all settings as text, for the key of the cache."""
        name = f"{type(self).__module__}.{type(self).__qualname__}"
        trainer = self.trainer(self.vocab_size or UNLIMITED)
        return f"{name} joint={self.joint} {self._untrained().to_str()} {trainer.__getstate__()!r}"

    def train(self, texts: Sequence[Sequence[str]]) -> Tokenizer:
        """Return a tokenizer trained on all lines of all `texts`.

        Raises:
            UserError: `vocab_size` is not possible with this text.
        """
        if self.vocab_size is None:
            return self._fit(texts, UNLIMITED)
        smallest = self.smallest(texts)
        if self.vocab_size < smallest:
            raise self._refusal(f"needs at least {smallest}")
        tokenizer = self._fit(texts, self.vocab_size)
        if tokenizer.get_vocab_size() < self.vocab_size:
            largest = self._fit(texts, UNLIMITED).get_vocab_size()
            if largest < self.vocab_size:
                raise self._refusal(f"gives at most {largest}")
        return tokenizer

    def _refusal(self, why: str) -> UserError:
        return UserError(f"tokenizer.vocab_size is {self.vocab_size}, but the training text {why}.")

    def _fit(self, texts: Sequence[Sequence[str]], size: int) -> Tokenizer:
        tokenizer, trainer = self._untrained(), self.trainer(size)
        lines = sum(map(len, texts))
        bars = lines >= MANY_LINES and sys.stderr.isatty()
        trainer.show_progress = bars  # type: ignore[attr-defined]
        tokenizer.train_from_iterator(_chunks(texts, lines), trainer, lines)
        return self.settle(tokenizer)

    def _untrained(self) -> Tokenizer:
        tokenizer = Tokenizer(self.model())
        marks = [normalizers.Replace(" ", MARK), normalizers.Prepend(MARK)]
        tokenizer.normalizer = normalizers.Sequence(marks)
        tokenizer.pre_tokenizer = self.cut()
        return tokenizer


def _chunks(texts: Sequence[Sequence[str]], lines: int) -> Iterator[Sequence[str]]:
    with progress("reading for the vocabulary", lines, " lines") as bar:
        for text in texts:
            for start in range(0, len(text), CHUNK):
                chunk = text[start : start + CHUNK]
                yield chunk
                bar.update(len(chunk))


def characters_and_specials(texts: Sequence[Sequence[str]]) -> int:
    """Return the size of a vocabulary of single characters."""
    found: set[str] = {MARK}
    for line in chain.from_iterable(texts):
        found.update(line)
    return len(found - {" "}) + len(SPECIALS)
