"""What is suspicious about the text of a corpus: one sentence each, with a count and a line.

Nothing here is an error. Test pairs that a model was trained on, letters in another Unicode normal
form than those of the vocabulary, and lines without a visible character make scores mean little.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from typing import Literal

from ablate.data.pairs import Corpus, Pairs

Form = Literal["NFC", "NFD"]
FORMS: tuple[Form, ...] = (
    "NFC",
    "NFD",
)  # letters with their accents in one character, and in several
# spaces, controls, soft hyphens, zero-width characters and marks of direction
INVISIBLE = re.compile(
    r"[\s\x00-\x1f\x7f-\x9f\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]+"
)


class Lines:
    """Some lines of a split: how many they are, and the number of the first one."""

    def __init__(self) -> None:
        self.count = 0
        self.first = 0

    def add(self, number: int) -> None:
        """Count a line."""
        self.first = self.first or number
        self.count += 1

    def __str__(self) -> str:
        lines = "line" if self.count == 1 else "lines"
        return f"{self.count:,} {lines} (the first is line {self.first:,})"


def doubts(corpus: Corpus) -> Iterator[str]:
    """Yield what is suspicious about a corpus, after one pass over each of its splits.

    In memory are digests of the pairs of all splits but train.
    """
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
            repeated = _those(digest(*pair) in trained for pair in _pairs(pairs))
            if repeated.count:
                yield f"{split}: {repeated} repeat pairs of train, which a model can recite"


def digest(src: str, tgt: str) -> bytes:
    """Return 8 bytes that stand for a pair, without spaces around its sentences."""
    return blake2b(f"{src.strip()}\n{tgt.strip()}".encode(), digest_size=8).digest()


def _of_side(where: str, lines: Iterable[str], usual: frozenset[Form]) -> Iterator[str]:
    """Yield doubts about one side of a split; `usual` are the normal forms of train."""
    invisible = _those(INVISIBLE.fullmatch(line) is not None for line in lines)
    if invisible.count:
        yield f"{where}: {invisible} have no visible character"
    for form in usual:
        other = _those(not unicodedata.is_normalized(form, line) for line in lines)
        if other.count:
            yield f"{where}: {other} are not in the Unicode normal form {form}, as train is"


def _forms(lines: Iterable[str]) -> frozenset[Form]:
    """Return the one normal form that all lines have; nothing where they have both or none."""
    forms: set[Form] = set(FORMS)
    for line in lines:
        if not line.isascii():
            forms = {form for form in forms if unicodedata.is_normalized(form, line)}
        if not forms:
            break
    return frozenset(forms if len(forms) == 1 else ())


def _pairs(pairs: Pairs) -> Iterator[tuple[str, str]]:
    return zip(*pairs, strict=True)


def _those(flags: Iterable[bool]) -> Lines:
    """Return the lines whose flag is set."""
    lines = Lines()
    for number, flag in enumerate(flags, start=1):
        if flag:
            lines.add(number)
    return lines
