"""The interface of vocabularies, which turn text into subwords and back.

Before a line is cut, every space is replaced by MARK, and one more MARK is put in front: `a man.`
becomes `MARK a`, `MARK man`, `.`. Joining the subwords and replacing MARK by a space restores the
line exactly, double spaces included. MARK is a line feed, which no line contains, so text can never
be mistaken for MARK or for a special token.

A document may contain line feeds. Its vocabulary represents line feeds by LINE_FEED, a code point
that Unicode reserves for internal use (if a document contains this code point, decoding gives a
line feed). LINE_FEED is always a separate subword. A document gets no leading MARK, so the document
may be cut before any space or line feed and encoded in parts.
"""

import re
import string
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence, Sized
from itertools import chain, islice
from typing import Annotated, cast

from tokenizers import Tokenizer, decoders, normalizers, pre_tokenizers
from tokenizers.models import Model
from tokenizers.trainers import Trainer

from ablate.config.limits import Range
from ablate.data.vocabulary import SPECIALS
from ablate.errors import UserError
from ablate.progress import Work

MARK = "\n"
LINE_FEED = "\ufdd0"
# MARK occurs only at the start of a subword, so text never contains one of these names
RESERVED = [f"{name}{MARK}" for name in SPECIALS]
UNLIMITED = 1 << 20  # size of a vocabulary without limit; the library reserves memory for this size
CHUNK = 10_000  # lines passed to the library at a time
LONGEST = 1_000  # characters; longer words are cut for the training of a vocabulary
LONG = re.compile(f"[^ ]{{{LONGEST + 1}}}")  # a possible long word

Texts = Sequence[Iterable[str]]  # each text can be read more than once


class Scheme(ABC):
    """A method to learn a vocabulary, and the size of the vocabulary.

    `vocab_size` includes the four special ids; null means as many subwords as the text supports (at
    most a million). With `joint`, both languages share one vocabulary; otherwise each language has
    a vocabulary of `vocab_size`.
    """

    def __init__(self, *, vocab_size: Annotated[int | None, Range(1, UNLIMITED)], joint: bool):
        self.vocab_size = vocab_size
        self.joint = joint

    @abstractmethod
    def model(self) -> Model:
        """Return an untrained model of the `tokenizers` library."""

    @abstractmethod
    def trainer(self, size: int) -> Trainer:
        """Return the library's trainer for at most `size` subwords, the first of which are
        RESERVED.
        """

    def cut(self) -> pre_tokenizers.PreTokenizer:
        """Return the pre-tokenizer, which cuts before each space and around punctuation.

        No subword crosses these cuts.
        """
        before_spaces = pre_tokenizers.Split(MARK, "merged_with_next")
        return pre_tokenizers.Sequence([before_spaces, pre_tokenizers.Punctuation("isolated")])

    def smallest(self, texts: Texts) -> int:
        """Return the size of the smallest possible vocabulary for these texts; schemes whose
        vocabulary must have all characters override this method.
        """
        return len(SPECIALS) + 1

    def settle(self, tokenizer: Tokenizer) -> Tokenizer:
        """Return the trained tokenizer with changes that make training deterministic; by default
        without changes.
        """
        return tokenizer

    def signature(self, *, documents: bool) -> str:
        """Return all settings as text, from which the key of the token cache is computed."""
        name = f"{type(self).__module__}.{type(self).__qualname__}"
        trainer = self.trainer(self.vocab_size or UNLIMITED)
        untrained = self.untrained(documents=documents).to_str()
        return f"{name} joint={self.joint} {untrained} {trainer.__getstate__()!r}"

    def train(self, texts: Texts, *, documents: bool = False) -> Tokenizer:
        """Return a tokenizer trained on all `texts`.

        Args:
            texts: one sequence of lines (or parts of documents) for each language.
            documents: whether the texts are documents, which may contain line feeds.

        Raises:
            UserError: this text does not support `vocab_size`.
        """
        if self.vocab_size is None:
            return self._fit(texts, UNLIMITED, documents=documents)
        smallest = self.smallest(texts)
        if self.vocab_size < smallest:
            raise self._refusal(f"needs at least {smallest}")
        tokenizer = self._fit(texts, self.vocab_size, documents=documents)
        if tokenizer.get_vocab_size() < self.vocab_size:
            largest = self._fit(texts, UNLIMITED, documents=documents).get_vocab_size()
            if largest < self.vocab_size:
                raise self._refusal(f"gives at most {largest}")
        return tokenizer

    def _refusal(self, why: str) -> UserError:
        return UserError(f"tokenizer.vocab_size is {self.vocab_size}, but the training text {why}.")

    def _fit(self, texts: Texts, size: int, *, documents: bool) -> Tokenizer:
        tokenizer, trainer = self.untrained(documents=documents), self.trainer(size)
        sized = all(isinstance(text, Sized) for text in texts)
        lines = sum(len(cast(Sized, text)) for text in texts) if sized else None
        trainer.show_progress = False  # type: ignore[attr-defined]
        with Work("learning the vocabulary", lines) as work:
            tokenizer.train_from_iterator(_chunks(texts, work), trainer, lines)
        return self.settle(tokenizer)

    def untrained(self, *, documents: bool) -> Tokenizer:
        """Return an untrained tokenizer for lines or for documents."""
        tokenizer = Tokenizer(self.model())
        marks: list[normalizers.Normalizer] = [normalizers.Replace(" ", MARK)]
        if documents:
            marks = [normalizers.Replace("\n", LINE_FEED), *marks]
            cuts = [pre_tokenizers.Split(LINE_FEED, "isolated"), self.cut()]
            tokenizer.pre_tokenizer = pre_tokenizers.Sequence(cuts)
            back = [decoders.Replace(MARK, " "), decoders.Replace(LINE_FEED, "\n")]
            tokenizer.decoder = decoders.Sequence([decoders.Fuse(), *back])
        else:
            marks = [*marks, normalizers.Prepend(MARK)]
            tokenizer.pre_tokenizer = self.cut()
        tokenizer.normalizer = normalizers.Sequence(marks)
        return tokenizer


def _chunks(texts: Texts, work: Work) -> Iterator[Sequence[str]]:
    for text in texts:
        rest = iter(text)
        while chunk := list(islice(rest, CHUNK)):
            yield [part for line in chunk for part in cut_words(line)]
            work.advance(len(chunk))


def cut_words(line: str) -> list[str]:
    """Return a line as parts in which no word is longer than `LONGEST` characters.

    The time to train a vocabulary grows steeply with the length of a word. Only the training of a
    vocabulary uses these parts.
    """
    if not LONG.search(line):
        return [line]
    begin, length, parts = 0, 0, []
    for at, character in enumerate(line):
        length = 0 if character == " " or _is_punctuation(character) else length + 1
        if length > LONGEST:
            parts.append(line[begin:at])
            begin, length = at, 1
    return [*parts, line[begin:]]


def _is_punctuation(character: str) -> bool:
    """Return whether the `tokenizers` library cuts around this character."""
    return character in string.punctuation or unicodedata.category(character).startswith("P")


def characters_and_specials(texts: Texts) -> int:
    """Return the size of a vocabulary of all characters in the texts and the four special ids."""
    characters = {MARK}  # represents the space
    for text in chain.from_iterable(texts):
        characters.update(text.replace("\n", LINE_FEED))
    return len(characters - {" "}) + len(SPECIALS)
