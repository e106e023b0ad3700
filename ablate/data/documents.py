"""The interface of corpora of documents: text in one language that language models read as a
stream.
"""

import math
from abc import abstractmethod
from collections.abc import Iterable, Iterator
from typing import ClassVar, NamedTuple

from ablate.data.pairs import Corpus, Pairs

# maximum number of characters of a segment, which bounds memory for long documents
LONGEST = 1 << 16
# maximum for text with spaces; encoding needs about 200 bytes of memory per character
USUAL = 1 << 13
# Text between two documents, which belongs to neither. None: the whole text is one document.
SEPARATORS = {"paragraph": "\n\n", "line": "\n", "file": None}


class Segment(NamedTuple):
    """A part of a document that is encoded at once.

    `end` is the separator between this document and the next, such as a blank line. `end` is None
    if the document continues in the next segment.
    """

    text: str
    end: str | None


class TextLength(NamedTuple):
    """Size of the text of a split, in several units such as tokens and bytes."""

    texts: int  # number of documents or lines
    tokens: int  # including one EOS per text
    characters: int  # of the texts and of the separators between them
    bytes: int  # UTF-8 bytes of the texts and of the separators
    unknown: int  # bytes of characters that are not in the vocabulary

    def bits_per_byte(self, nll: float) -> float:
        """Convert a mean nll (nats per token) to bits per byte of the text.

        An UNK token costs its nll plus 8 bits for each byte of the unknown character. Without this
        addition, a small vocabulary, which maps many characters to UNK, would look best.
        """
        return (nll * self.tokens / math.log(2) + 8 * self.unknown) / self.bytes

    def nats_per_character(self, nll: float) -> float:
        """Convert a mean nll (nats per token) to nats per character of the text."""
        bits = self.bits_per_byte(nll) * self.bytes
        return bits * math.log(2) / self.characters


class Documents(Corpus):
    """A corpus of documents in one language, without source texts."""

    documents: ClassVar[bool] = True

    @property
    def languages(self) -> tuple[str, str]:
        """The language codes of a text without a source side: "" for the missing source language,
        and `und`, the ISO 639 code of an undetermined language, for the text.
        """
        return "", "und"

    @abstractmethod
    def segments(self, split: str) -> Iterator[Segment]:
        """Yield the documents of a split in order, each as one or more segments (its parts).

        A segment has a text, and an `end`: the separator if the document ends here, else None. The
        concatenation of all texts and ends is the text of the split.

        Raises:
            UserError: the split does not exist, or its text is not usable.
        """

    def read(self, split: str) -> Pairs:
        """Return all documents of a split in memory, each with an empty source."""
        texts = [*document_texts(self, split)]
        return Pairs([""] * len(texts), texts)


def document_texts(corpus: Documents, split: str) -> Iterator[str]:
    """Yield the whole text of every document of a split."""
    parts = []
    for text, end in corpus.segments(split):
        parts.append(text)
        if end is not None:
            yield "".join(parts)
            parts = []


class SegmentTexts(Iterable[str]):
    """The texts of all segments (parts of documents) of a split; every iteration reads these texts
    again.
    """

    def __init__(self, corpus: Documents, split: str) -> None:
        self._corpus, self._split = corpus, split

    def __iter__(self) -> Iterator[str]:
        return (text for text, _ in self._corpus.segments(self._split))


def split_documents(text: str, separator: str | None) -> Iterator[Segment]:
    """Yield the segments (parts of documents) of a text.

    Empty documents are kept, so that the original text can be reassembled. The last document's
    `end` is "", or the separator if the text ends with a separator.

    Args:
        text: the text.
        separator: text between two documents; None: the whole text is one document.
    """
    *documents, last = text.split(separator) if separator else [text]
    for document in documents:
        yield from segments_of(document, separator or "")
    if last:
        yield from segments_of(last, "")


def segments_of(text: str, end: str) -> Iterator[Segment]:
    """Yield a document, or the last part of a document, as segments; `end` is the separator that
    follows the document.
    """
    *parts, last = _pieces(text)
    yield from (Segment(part, None) for part in parts)
    yield Segment(last, end)


def _pieces(text: str) -> list[str]:
    """Return a text cut into parts. Cuts are before spaces or line feeds, so that no subword
    crosses a cut.

    Text without spaces or line feeds is cut after LONGEST characters.
    """
    pieces, start = [], 0
    while cut := _cut(text, start):
        pieces.append(text[start:cut])
        start = cut
    return [*pieces, text[start:]]


def _cut(text: str, start: int) -> int | None:
    """Return the position of the next cut after `start`; None if the rest of the text is the last
    part.
    """
    for longest in (USUAL, LONGEST):
        stop = start + longest
        if len(text) <= stop:
            return None
        cut = max(text.rfind(" ", start + 1, stop), text.rfind("\n", start + 1, stop))
        if cut > start:
            return cut
    return stop
