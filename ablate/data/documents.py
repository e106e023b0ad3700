"""The seam of corpora of documents: text in one language that is read as a stream."""

import math
from abc import abstractmethod
from collections.abc import Iterable, Iterator
from typing import ClassVar, NamedTuple

from ablate.data.pairs import Corpus, Pairs

LONGEST = 1 << 16  # characters of a segment, so that memory does not grow with a document
USUAL = 1 << 13  # characters of a segment of a text with spaces; encoding takes 200 bytes for each
# what stands between documents in a text, and is no part of them; None: the text is one document
SEPARATORS = {"paragraph": "\n\n", "line": "\n", "file": None}


class Segment(NamedTuple):
    """A part of a document.

    `end` is the text between its document and the next one, such as a blank line; it is None where
    the document goes on in the next segment.
    """

    text: str
    end: str | None


class TextLength(NamedTuple):
    """How long the text of a split is."""

    texts: int  # documents, or lines
    tokens: int  # an EOS behind each text counted
    characters: int  # of the texts and of what stands between them
    bytes: int  # the same in UTF-8
    unknown: int  # bytes of those characters that the vocabulary lacks

    def bits_per_byte(self, nll: float) -> float:
        """Return what a mean nll (nats per token) comes to in bits per byte of the text.

        An unknown character costs its token, and 8 bits for each of its bytes to spell it: without
        that a small vocabulary, which turns much into the same token, would seem the best.
        """
        return (nll * self.tokens / math.log(2) + 8 * self.unknown) / self.bytes

    def nats_per_character(self, nll: float) -> float:
        """Return what a mean nll (nats per token) comes to in nats per character of the text."""
        bits = self.bits_per_byte(nll) * self.bytes
        return bits * math.log(2) / self.characters


class Documents(Corpus):
    """A corpus of documents; there are no sources."""

    documents: ClassVar[bool] = True

    @abstractmethod
    def segments(self, split: str) -> Iterator[Segment]:
        """Yield the documents of a split, in order and in segments of any length.

        The texts and ends together are the text of the split.

        Raises:
            UserError: the split does not exist, or its text is not usable.
        """

    def read(self, split: str) -> Pairs:
        """Return the documents of a split, all in memory, with an empty source each."""
        texts, parts = [], []
        for text, end in self.segments(split):
            parts.append(text)
            if end is not None:
                texts.append("".join(parts))
                parts = []
        return Pairs([""] * len(texts), texts)


class SegmentTexts(Iterable[str]):
    """The texts of the segments of a split, read anew at every iteration."""

    def __init__(self, corpus: Documents, split: str) -> None:
        self._corpus, self._split = corpus, split

    def __iter__(self) -> Iterator[str]:
        return (text for text, _ in self._corpus.segments(self._split))


def split_documents(blocks: Iterable[str], separator: str | None) -> Iterator[Segment]:
    """Yield the segments of a text that is given in blocks of any length.

    An empty document is one like any other, so that the text can be put together again. The end of
    the last document is "": nothing stands behind it, except a separator after which nothing comes.
    """
    rest, began = "", False
    for block in blocks:
        rest += block
        whole = rest.split(separator) if separator else [rest]
        for text in whole[:-1]:
            yield from segments_of(text, separator or "")
            began = False
        rest = whole[-1]
        if len(rest) > 2 * LONGEST:
            *parts, rest = _pieces(rest)
            began = True
            yield from (Segment(part, None) for part in parts)
    if rest or began:
        yield from segments_of(rest, "")


def segments_of(text: str, end: str) -> Iterator[Segment]:
    """Yield the segments of a document, or of the end of one; `end` is what stands behind it."""
    *parts, last = _pieces(text)
    yield from (Segment(part, None) for part in parts)
    yield Segment(last, end)


def _pieces(text: str) -> list[str]:
    """Cut a text before spaces or line feeds, where no subword crosses the cut.

    A text without either is cut after LONGEST characters. The last piece may begin a separator.
    """
    pieces, start = [], 0
    while cut := _cut(text, start):
        pieces.append(text[start:cut])
        start = cut
    return [*pieces, text[start:]]


def _cut(text: str, start: int) -> int | None:
    """Return where the piece that begins at `start` ends; None where it is the last one."""
    for longest in (USUAL, LONGEST):
        stop = start + longest
        if len(text) <= stop:
            return None
        cut = max(text.rfind(" ", start + 1, stop), text.rfind("\n", start + 1, stop))
        if cut > start:
            return cut
    return stop
