"""Convert text to token ids and back."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt
import tokenizers
from tokenizers import decoders

from ablate.data import SPECIALS, UNK
from ablate.data.scheme import LINE_FEED, MARK, RESERVED, Scheme

# The library's threads hang in forked children, and the number of threads of a run is fixed.
os.environ["TOKENIZERS_PARALLELISM"] = "0"

UNKNOWN = "\u2047"  # shown for UNK in translations: one character, so BLEU counts one error
SIDES = ("src", "tgt")
JOINT = "joint"

Sides = tuple[Iterable[str], Iterable[str]]  # each side can be read more than once


class Tokenizer:
    """The vocabulary of one language, or of both languages together.

    Ids 0 to 3 are PAD, BOS, EOS and UNK; text is never encoded as PAD, BOS or EOS. Decoding the ids
    of a line or a document restores the text, except for unknown subwords, which become UNKNOWN.
    """

    def __init__(self, library: tokenizers.Tokenizer):
        library.encode_special_tokens = True  # a document may contain the name of a special token
        self._library = library
        self.size: int = library.get_vocab_size()
        of_bytes = isinstance(library.decoder, decoders.ByteLevel)
        self._is_byte = of_bytes and self.size == len(SPECIALS) + 256
        self._pieces = [library.id_to_token(token) or "" for token in range(self.size)]
        self._text = [
            "" if token < len(SPECIALS) else piece for token, piece in enumerate(self._pieces)
        ]
        self._text[UNK] = self._pieces[UNK].replace(RESERVED[UNK], UNKNOWN)

    def encode_batch(self, lines: Sequence[str]) -> list[list[int]]:
        """Return the token ids of each line, without BOS and EOS."""
        if self._is_byte:  # the library is fifty times slower for bytes
            return [[byte + len(SPECIALS) for byte in line.encode()] for line in lines]
        encoded = self._library.encode_batch_fast(lines, add_special_tokens=False)
        return [line.ids for line in encoded]

    def decode_batch(self, lines: list[list[int]]) -> list[str]:
        """Return the text of each list of ids; PAD, BOS and EOS are left out."""
        texts = map(self._unmarked, lines)
        return [text if self.verbatim else text.removeprefix(" ") for text in texts]

    def decode_lines(self, lines: list[list[int]]) -> list[str]:
        """Return the text of each list of ids as a single line.

        A model of bytes may generate line feeds; they become spaces.
        """
        return [text.replace("\n", " ") for text in self.decode_batch(lines)]

    def pieces(self, ids: list[int]) -> list[str]:
        """Return a printable label for each token id, for tables and axes.

        A space is shown as a low bar, a line feed as a bent arrow.
        """
        labels = [SPECIALS[i] if i < len(SPECIALS) else self._pieces[i] for i in ids]
        return [text.replace(MARK, "\u2581").replace(LINE_FEED, "\u23ce") for text in labels]

    def save(self, path: Path) -> None:
        """Write the vocabulary to a file."""
        path.write_text(self._library.to_str(pretty=True), encoding="utf-8", newline="\n")

    def to_str(self) -> str:
        """Return the vocabulary as text, in the format of the file that `save` writes."""
        return self._library.to_str()

    @classmethod
    def load(cls, path: Path) -> "Tokenizer":
        """Return the vocabulary that `save` wrote."""
        return cls(tokenizers.Tokenizer.from_file(str(path)))

    @property
    def verbatim(self) -> bool:
        """Whether the subwords of a text spell exactly this text; otherwise they spell a line with
        an extra space in front, which `decode_batch` removes.
        """
        return self._library.decoder is not None

    @cached_property
    def widths(self) -> npt.NDArray[np.int64]:
        """Number of UTF-8 bytes of the text of each id; 0 for special ids."""
        if isinstance(self._library.decoder, decoders.ByteLevel):
            return (np.arange(self.size) >= len(SPECIALS)).astype(np.int64)
        text = [self._unmarked([token]) for token in range(self.size)]
        text[: len(SPECIALS)] = [""] * len(SPECIALS)
        return np.array([len(piece.encode()) for piece in text], np.int64)

    def _unmarked(self, ids: list[int]) -> str:
        """Return the text of token ids, in which MARK is replaced by a space.

        Unless the tokenizer is `verbatim`, the text of a line therefore starts with a space that
        the line does not have.
        """
        pieces = [self._text[token] for token in ids]
        if self._library.decoder:  # vocabularies of documents and of bytes
            return self._library.decoder.decode(pieces)
        return "".join(pieces).replace(MARK, " ")


@dataclass(frozen=True)
class Tokenizers:
    """The vocabularies of source and target language; if they share one vocabulary, the same object
    twice.
    """

    src: Tokenizer
    tgt: Tokenizer

    @property
    def joint(self) -> bool:
        """Whether both languages share one vocabulary."""
        return self.src is self.tgt

    @classmethod
    def train(cls, scheme: Scheme, pairs: Sides, *, documents: bool = False) -> "Tokenizers":
        """Train vocabularies on the sources and targets of the training text.

        With `documents`, the text may contain line feeds.

        Raises:
            UserError: the text does not support a vocabulary of the requested size.
        """
        src, tgt = pairs
        if scheme.joint:
            both = Tokenizer(scheme.train([src, tgt], documents=documents))
            return cls(both, both)
        sides = (scheme.train([side], documents=documents) for side in (src, tgt))
        return cls(*(Tokenizer(side) for side in sides))

    def save(self, folder: Path) -> None:
        """Write the vocabularies into a folder."""
        if self.joint:
            self.src.save(folder / f"{JOINT}.json")
            return
        for side, tokenizer in zip(SIDES, (self.src, self.tgt), strict=True):
            tokenizer.save(folder / f"{side}.json")

    @classmethod
    def load(cls, folder: Path) -> "Tokenizers":
        """Return the vocabularies that `save` wrote."""
        shared = folder / f"{JOINT}.json"
        if shared.is_file():
            both = Tokenizer.load(shared)
            return cls(both, both)
        return cls(*(Tokenizer.load(folder / f"{side}.json") for side in SIDES))


class Given:
    """Existing vocabularies, used in place of a scheme that learns vocabularies.

    Args:
        tokenizers: the vocabularies.
        splits: names of the splits that must be encoded.
    """

    def __init__(self, tokenizers: Tokenizers, splits: tuple[str, ...]) -> None:
        self.tokenizers = tokenizers
        self.splits = splits

    def signature(self, *, documents: bool) -> str:
        """Return the vocabularies and the split names as text, from which the key of the token
        cache is computed.
        """
        sides = (self.tokenizers.src, self.tokenizers.tgt)
        return "\n".join([*self.splits, *(side.to_str() for side in sides)])
