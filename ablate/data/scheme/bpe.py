"""Byte-pair encoding over characters.

Equation: start from single characters; join the most frequent pair of neighbouring subwords
    inside words; repeat until there are `vocab_size` subwords.
Source: Sennrich et al. 2016, arXiv:1508.07909, section 3.2.
What differs from the source: words are marked at their beginning, not at their end. Punctuation is
    always cut off, so no subword crosses it. Each character that training has not seen becomes an
    UNK.
What to expect: decoding restores text of known characters exactly. On a small corpus the
    vocabulary ends when every word is a subword, and a larger `vocab_size` is an error.
"""

from tokenizers.models import BPE
from tokenizers.trainers import BpeTrainer

from ablate.data.scheme.base import RESERVED, Scheme, Texts, characters_and_specials
from ablate.data.vocabulary import UNK


class Bpe(Scheme):
    """A vocabulary of subwords, learnt by byte-pair encoding."""

    def model(self) -> BPE:
        """Return an untrained BPE model of the `tokenizers` library."""
        return BPE(unk_token=RESERVED[UNK])

    def trainer(self, size: int) -> BpeTrainer:
        """Return a trainer of the `tokenizers` library for `size` subwords."""
        return BpeTrainer(vocab_size=size, special_tokens=RESERVED)

    def smallest(self, texts: Texts) -> int:
        """Return the number of different characters plus special ids; characters are always
        subwords.
        """
        return characters_and_specials(texts)
