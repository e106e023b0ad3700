"""Single characters.

Equation: one piece per Unicode code point; the `vocab_size` most frequent ones.
Source: Lee et al. 2017, arXiv:1610.03017 (character to character).
What differs from the source: no convolution that shortens the source; a letter and a combining
    accent are two characters.
What to expect: sequences four to six times as long as with BPE, a very small embedding table;
    text made of known characters comes back exactly.
"""

from tokenizers import Regex, pre_tokenizers

from ablate.data.scheme.base import RESERVED
from ablate.data.scheme.word import Word
from ablate.data.vocabulary import UNK


class Char(Word):
    """A vocabulary of the most frequent characters."""

    learns_words = False
    unknown = RESERVED[UNK]

    def cut(self) -> pre_tokenizers.PreTokenizer:
        """Return a pre-tokenizer that cuts around every character."""
        return pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
