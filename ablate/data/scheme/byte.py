"""Single bytes of UTF-8.

Equation: one token per byte: id = byte + 4, after the four special ids.
Source: arXiv:2105.13626, section 3.1 (ByT5).
What differs from the source: no ids for the masked spans of T5.
What to expect: 260 ids for every language, and no unknown character. Sequences are as long as those
    of characters for English, twice as long for Greek or Russian, three times as long for Chinese.
    Ids that are not valid UTF-8 decode to U+FFFD.
"""

from tokenizers import Regex, Tokenizer, decoders, pre_tokenizers
from tokenizers.models import WordLevel
from tokenizers.trainers import Trainer, WordLevelTrainer

from ablate.data.scheme.base import RESERVED, Scheme, Texts
from ablate.data.vocabulary import UNK


class Byte(Scheme):
    """A vocabulary of the 256 bytes, independent of the training text."""

    def __init__(self, *, joint: bool) -> None:
        super().__init__(vocab_size=None, joint=joint)

    def model(self) -> WordLevel:
        """Return the complete model, which maps each byte to an id; nothing is trained."""
        pieces = [*RESERVED, *letters()]
        ids = {piece: number for number, piece in enumerate(pieces)}
        return WordLevel(ids, unk_token=RESERVED[UNK])

    def trainer(self, size: int) -> Trainer:
        """Return a trainer that is never run; only its settings enter the key of the token
        cache.
        """
        return WordLevelTrainer(vocab_size=size, special_tokens=RESERVED)

    def untrained(self, *, documents: bool) -> Tokenizer:
        """Return the tokenizer, which is the same for lines and documents."""
        tokenizer = Tokenizer(self.model())
        tokenizer.add_special_tokens(RESERVED)
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [
                pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
                pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated"),
            ]
        )
        tokenizer.decoder = decoders.ByteLevel()
        return tokenizer

    def train(self, texts: Texts, *, documents: bool = False) -> Tokenizer:
        """Return the tokenizer without training; `texts` is not used."""
        return self.untrained(documents=documents)


def letters() -> list[str]:
    """Return the characters by which the `tokenizers` library represents the bytes 0 to 255.

    A byte that is a printable Latin-1 character is represented by that character; the other bytes
    are numbered from U+0100.
    """
    prints = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    unprintable = [byte for byte in range(256) if byte not in prints]
    shown = {byte: chr(byte) for byte in prints}
    shown |= {byte: chr(256 + number) for number, byte in enumerate(unprintable)}
    return [shown[byte] for byte in range(256)]
