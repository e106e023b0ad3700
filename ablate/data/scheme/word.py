"""Whole words.

Equation: one token per word, for the `vocab_size` most frequent words; ties are resolved by
    spelling.
Source: the vocabularies before subwords, for example Bahdanau et al. 2015, arXiv:1409.0473,
    section 4.1.
What differs from the source: no tokenizer for a particular language: a word is the text between
    two spaces, and each punctuation mark is a word. A word includes the space in front of it. So
    `he` after a bracket and ` he` after a space are two different words, and joining the words
    restores the line exactly.
What to expect: a word not in the vocabulary becomes UNK, which costs BLEU on real text; on the
    built-in corpus, whose words are few, sequences are short and training is fast.
"""

from tokenizers.models import WordLevel
from tokenizers.trainers import WordLevelTrainer

from ablate.data.scheme.base import MARK, RESERVED, Scheme
from ablate.data.vocabulary import UNK


class Word(Scheme):
    """A vocabulary of the most frequent words."""

    # represents an unknown word together with the space in front of it
    unknown = f"{MARK}{RESERVED[UNK]}"

    def model(self) -> WordLevel:
        """Return an untrained word model of the `tokenizers` library."""
        return WordLevel(unk_token=self.unknown)

    def trainer(self, size: int) -> WordLevelTrainer:
        """Return a trainer of the `tokenizers` library for at most `size` words."""
        return WordLevelTrainer(vocab_size=size, special_tokens=[*RESERVED[:UNK], self.unknown])
