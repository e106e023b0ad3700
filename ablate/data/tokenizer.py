"""Between text and token ids."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import tokenizers

from ablate.data.pairs import Pairs
from ablate.data.scheme.base import MARK, RESERVED, Scheme
from ablate.data.vocabulary import SPECIALS, UNK

# The library's own threads hang in forked children, and a run is given its number of threads.
os.environ["TOKENIZERS_PARALLELISM"] = "0"

UNKNOWN = "\u2047"  # what UNK looks like in translations: one character, so BLEU counts one error
SIDES = ("src", "tgt")
JOINT = "joint"


class Tokenizer:
    """The vocabulary of one language, or of both.

    Ids 0 to 3 are PAD, BOS, EOS and UNK; text never becomes one of the first three. Decoding
    the ids of a line gives the line back, but for unknown pieces, which become UNKNOWN.
    """

    def __init__(self, library: tokenizers.Tokenizer):
        self._library = library
        self.size: int = library.get_vocab_size()
        self._pieces = [library.id_to_token(token) or "" for token in range(self.size)]
        self._text = [
            "" if token < len(SPECIALS) else piece for token, piece in enumerate(self._pieces)
        ]
        self._text[UNK] = self._pieces[UNK].replace(RESERVED[UNK], UNKNOWN)

    def encode_batch(self, lines: Sequence[str]) -> list[list[int]]:
        """Return the ids of each line, without BOS and EOS."""
        encoded = self._library.encode_batch_fast(lines, add_special_tokens=False)
        return [line.ids for line in encoded]

    def decode_batch(self, lines: list[list[int]]) -> list[str]:
        """Return the text of each list of ids; PAD, BOS and EOS are left out."""
        return [self._decode(line) for line in lines]

    def pieces(self, ids: list[int]) -> list[str]:
        """Return a label for each id, for tables and axes; a low bar stands for the space."""
        return [
            (SPECIALS[i] if i < len(SPECIALS) else self._pieces[i]).replace(MARK, "\u2581")
            for i in ids
        ]

    def save(self, path: Path) -> None:
        """Write the vocabulary to a file."""
        self._library.save(str(path))

    @classmethod
    def load(cls, path: Path) -> "Tokenizer":
        """Return the vocabulary that `save` wrote."""
        return cls(tokenizers.Tokenizer.from_file(str(path)))

    def _decode(self, ids: list[int]) -> str:
        text = "".join([self._text[token] for token in ids])
        return text.removeprefix(MARK).replace(MARK, " ")


@dataclass(frozen=True)
class Tokenizers:
    """The vocabularies of the two languages; one object twice where they share it."""

    src: Tokenizer
    tgt: Tokenizer

    @property
    def joint(self) -> bool:
        """Whether both languages share one vocabulary."""
        return self.src is self.tgt

    @classmethod
    def train(cls, scheme: Scheme, pairs: Pairs) -> "Tokenizers":
        """Return vocabularies learned from the training pairs.

        Raises:
            UserError: the text does not allow a vocabulary of the wanted size.
        """
        if scheme.joint:
            both = Tokenizer(scheme.train([pairs.src, pairs.tgt]))
            return cls(both, both)
        return cls(Tokenizer(scheme.train([pairs.src])), Tokenizer(scheme.train([pairs.tgt])))

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
