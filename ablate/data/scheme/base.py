"""How text becomes pieces: the part that all vocabularies share.

A line is marked before it is cut: every space becomes MARK and one more MARK goes in front, so
`a man.` is cut into `MARK a`, `MARK man`, `.`. Joining the pieces and turning MARK back into a
space gives the line back exactly, double spaces included. MARK is a line feed because no line
holds one: nothing in a text can be mistaken for it, or for a special token.

A document may hold line feeds. In its vocabulary LINE_FEED, a code point that Unicode keeps free
for such internal use, stands for them (and a document that has it gets a line feed back); it is
always a piece of its own. No MARK goes in front of a document, so that a document may be cut before
any space or line feed and encoded part by part.
"""

import re
import string
import sys
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence, Sized
from itertools import chain, islice
from typing import Annotated, ClassVar, cast

from tokenizers import Tokenizer, decoders, normalizers, pre_tokenizers
from tokenizers.models import Model
from tokenizers.trainers import Trainer

from ablate.config.limits import Range
from ablate.data.progress import progress
from ablate.data.vocabulary import SPECIALS
from ablate.errors import UserError

MARK = "\n"
LINE_FEED = "\ufdd0"
RESERVED = [f"{name}{MARK}" for name in SPECIALS]  # MARK only begins a piece, so none is like these
UNLIMITED = 1 << 20  # the library reserves memory for the size it is asked for
CHUNK = 10_000  # lines handed to the library at a time
LONGEST = 1_000  # characters of a word that a vocabulary is trained on; longer ones are cut
LONG = re.compile(f"[^ ]{{{LONGEST + 1}}}")  # what may be such a word
MANY_LINES = 200_000  # from here on the library shows its own bars as well

Texts = Sequence[Iterable[str]]  # each can be read more than once


class Scheme(ABC):
    """A kind of vocabulary and its size.

    `vocab_size` counts the four special ids; null is as many pieces as the text gives (up to a
    million). `joint` is whether the two languages share one vocabulary; if not, each has one of
    `vocab_size`. `learns_words` is whether pieces come from whole words, so that `cut_words` may
    change them.
    """

    learns_words: ClassVar[bool] = True

    def __init__(self, *, vocab_size: Annotated[int | None, Range(1, UNLIMITED)], joint: bool):
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

    def smallest(self, texts: Texts) -> int:
        """Return the smallest possible vocabulary; one that needs all characters says so here."""
        return len(SPECIALS) + 1

    def settle(self, tokenizer: Tokenizer) -> Tokenizer:
        """Remove what chance has left in a trained tokenizer; by default there is nothing."""
        return tokenizer

    def signature(self, *, documents: bool) -> str:
        """Return all settings as text, for the key of the cache."""
        name = f"{type(self).__module__}.{type(self).__qualname__}"
        trainer = self.trainer(self.vocab_size or UNLIMITED)
        untrained = self.untrained(documents=documents).to_str()
        return f"{name} joint={self.joint} {untrained} {trainer.__getstate__()!r}"

    def train(self, texts: Texts, *, documents: bool = False) -> Tokenizer:
        """Return a tokenizer trained on all lines, or parts of documents, of all `texts`.

        Raises:
            UserError: `vocab_size` is not possible with this text.
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
        bars = (lines is None or lines >= MANY_LINES) and sys.stderr.isatty()
        trainer.show_progress = bars  # type: ignore[attr-defined]
        tokenizer.train_from_iterator(_chunks(texts, lines), trainer, lines)
        return self.settle(tokenizer)

    def untrained(self, *, documents: bool) -> Tokenizer:
        """Return the library's tokenizer of lines, or of documents, before training."""
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


def _chunks(texts: Texts, lines: int | None) -> Iterator[Sequence[str]]:
    with progress("reading for the vocabulary", lines, " lines") as bar:
        for text in texts:
            rest = iter(text)
            while chunk := list(islice(rest, CHUNK)):
                yield [part for line in chunk for part in cut_words(line)]
                bar.update(len(chunk))


def cut_words(line: str) -> list[str]:
    """Return a line in parts, in which no word is longer than `LONGEST` characters.

    Finding the pairs of a word takes time that grows with its length for every new piece. Only the
    training of a vocabulary sees the parts.
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
    """Whether the library cuts around a character."""
    return character in string.punctuation or unicodedata.category(character).startswith("P")


def characters_and_specials(texts: Texts) -> int:
    """Return the size of a vocabulary of single characters."""
    characters = {MARK}  # which stands for the space
    for text in chain.from_iterable(texts):
        characters.update(text.replace("\n", LINE_FEED))
    return len(characters - {" "}) + len(SPECIALS)
