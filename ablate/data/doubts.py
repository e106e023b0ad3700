"""Warn about suspicious text in a corpus: one sentence per problem, with a count and a line number.

The problems are not errors, but they make scores meaningless. The problems are: test pairs that
also occur in train, letters in a Unicode normal form that differs from the form in train, and lines
without a visible character.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from typing import Literal

from ablate.data.documents import Documents, Segment
from ablate.data.pairs import Corpus, Pairs
from ablate.data.scheme.base import LONGEST, cut_words

Form = Literal["NFC", "NFD"]
FORMS: tuple[Form, ...] = (
    "NFC",
    "NFD",
)  # NFC has accented letters as one character, NFD as several
SHORT = 100  # characters; shorter documents, such as "Enter the king.", repeat by chance
# spaces, control characters, soft hyphens, zero-width characters, direction marks
INVISIBLE = re.compile(
    r"[\s\x00-\x1f\x7f-\x9f\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]+"
)


class Lines:
    """A counter of lines that have some property; it also stores the first such line's number."""

    def __init__(self, flags: Iterable[bool] = (), unit: str = "line") -> None:
        self.count = 0
        self.first = 0
        self._unit = unit
        self._seen = 0
        self.extend(flags)

    def extend(self, flags: Iterable[bool]) -> None:
        """Count further lines; `flags` says of each line whether it has the property."""
        for flag in flags:
            self._seen += 1
            if flag:
                self.first = self.first or self._seen
                self.count += 1

    def __str__(self) -> str:
        units = self._unit if self.count == 1 else f"{self._unit}s"
        return f"{self.count:,} {units} (the first is {self._unit} {self.first:,})"


def doubts(corpus: Corpus) -> Iterator[str]:
    """Yield warnings about a corpus, one sentence each.

    Documents are read as a stream: memory holds only a digest for each document outside train.
    """
    if isinstance(corpus, Documents):
        yield from _repeated_documents(corpus)
        return
    held_out = {split: corpus.read(split) for split in corpus.splits if split != "train"}
    digests = {digest(*pair) for pairs in held_out.values() for pair in _pairs(pairs)}
    train = corpus.read("train")
    trained = {key for pair in _pairs(train) if (key := digest(*pair)) in digests}
    usual = [_forms(side) for side in train]
    for split, pairs in {"train": train, **held_out}.items():
        for language, lines, forms in zip(corpus.languages, pairs, usual, strict=True):
            if language:
                yield from _of_side(f"{split}, {language}", lines, forms)
        if split != "train":
            repeated = Lines(digest(*pair) in trained for pair in _pairs(pairs))
            if repeated.count:
                yield f"{split}: {repeated} repeat pairs of train, which a model can recite"


def long_words(corpus: Corpus) -> Iterator[str]:
    """Yield a warning for each side (source or target) of train with words that are too long for
    vocabulary training.
    """
    sides: list[tuple[str, Iterable[bool]]]
    if isinstance(corpus, Documents):
        sides = [("train", _lines_with_long_words(corpus.segments("train")))]
    else:
        named = [f"train, {language}" for language in corpus.languages]
        flags = [map(_has_long_word, side) for side in corpus.read("train")]
        sides = list(zip(named, flags, strict=True))
    for where, flagged in sides:
        if (lines := Lines(flagged)).count:
            yield (
                f"{where}: {lines} have words of more than {LONGEST:,} characters, which are cut "
                "for the training of the vocabulary"
            )


def _has_long_word(line: str) -> bool:
    return len(cut_words(line)) > 1


def _lines_with_long_words(segments: Iterable[Segment]) -> Iterator[bool]:
    """Yield, for each line of some documents, whether the line has a word that is too long for
    vocabulary training.
    """
    flag = False
    for text, end in segments:
        first, *following = f"{text}{end or ''}".split("\n")
        flag = flag or _has_long_word(first)
        for line in following:
            yield flag
            flag = _has_long_word(line)
    yield flag


def _repeated_documents(corpus: Documents) -> Iterator[str]:
    """Yield a warning for each held-out split whose documents also occur in train."""
    held_out = {s: list(_digests(corpus.segments(s))) for s in corpus.splits if s != "train"}
    wanted = {key for keys in held_out.values() for key in keys if key}
    trained = {key for key in _digests(corpus.segments("train")) if key in wanted}
    for split, keys in held_out.items():
        if (repeated := Lines((key in trained for key in keys), "document")).count:
            yield f"{split}: {repeated} repeat documents of train, which a model can recite"


def _digests(segments: Iterable[Segment]) -> Iterator[bytes]:
    """Yield an 8-byte digest of each document, or b"" for a document too short to be compared."""
    state, length = blake2b(digest_size=8), 0
    for text, end in segments:
        state.update(text.encode())
        length += len(text)
        if end is not None:
            yield state.digest() if length >= SHORT else b""
            state, length = blake2b(digest_size=8), 0


def digest(src: str, tgt: str) -> bytes:
    """Return an 8-byte digest of a sentence pair; spaces around the sentences are ignored."""
    return blake2b(f"{src.strip()}\n{tgt.strip()}".encode(), digest_size=8).digest()


def _of_side(where: str, lines: Iterable[str], usual: frozenset[Form]) -> Iterator[str]:
    """Yield warnings about the source or target lines of a split.

    Args:
        where: name of the split and language, for the warnings.
        lines: the lines.
        usual: Unicode normal forms of train; see `_forms`.
    """
    invisible = Lines(INVISIBLE.fullmatch(line) is not None for line in lines)
    if invisible.count:
        yield f"{where}: {invisible} have no visible character"
    for form in usual:
        other = Lines(not unicodedata.is_normalized(form, line) for line in lines)
        if other.count:
            yield f"{where}: {other} are not in the Unicode normal form {form}, as train is"


def _forms(lines: Iterable[str]) -> frozenset[Form]:
    """Return a set with the Unicode normal form (NFC or NFD) of all lines, or an empty set.

    The set is empty if some lines are in neither form, if lines differ in their form, or if all
    lines are in both forms, as ASCII text is.
    """
    forms: set[Form] = set(FORMS)
    for line in lines:
        if not line.isascii():
            forms = {form for form in forms if unicodedata.is_normalized(form, line)}
        if not forms:
            break
    return frozenset(forms if len(forms) == 1 else ())


def _pairs(pairs: Pairs) -> Iterator[tuple[str, str]]:
    return zip(*pairs, strict=True)
