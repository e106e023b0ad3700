"""Single characters.

Equation: one token per Unicode code point, for the `vocab_size` most frequent code points.
Source: Lee et al. 2017, arXiv:1610.03017 (character to character).
What differs from the source: no convolution that shortens the source; a letter and a combining
    accent are two characters.
What to expect: sequences four to six times as long as with BPE, and a very small embedding table.
    Decoding restores text of known characters exactly.
"""

from tokenizers import Regex, pre_tokenizers

from ablate.data.scheme.base import RESERVED
from ablate.data.scheme.word import Word
from ablate.data.vocabulary import UNK


class Char(Word):
    """A vocabulary of the most frequent characters."""

    unknown = RESERVED[UNK]

    def cut(self) -> pre_tokenizers.PreTokenizer:
        """Return a pre-tokenizer that cuts around every character."""
        return pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
