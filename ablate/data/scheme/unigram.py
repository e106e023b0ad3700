"""Pieces of a unigram language model.

Equation: a line is cut so that the product of its subwords' probabilities p(x_1) ... p(x_n) is
    largest. Subwords and p maximise the likelihood of the training text, by expectation
    maximisation, which starts from many subwords and drops the least useful.
Source: Kudo 2018, arXiv:1804.10959, section 3.2.
What differs from the source: always the best cut, never a sampled cut. In the library, the last
    digits of the scores, and the scores of very rare characters, depend on the order of a hash
    table. Here scores are rounded, rare characters share the lowest score, and ids are ordered by
    score and spelling, so that training is deterministic.
What to expect: decoding restores text of known characters exactly; consecutive unknown characters
    become a single UNK. The vocabulary may end slightly smaller than `vocab_size`, because
    subwords are dropped in large steps.
"""

import json

from tokenizers import Tokenizer
from tokenizers.models import Unigram as UnigramModel
from tokenizers.trainers import UnigramTrainer

from ablate.data.scheme.base import RESERVED, Scheme, Texts, characters_and_specials
from ablate.data.vocabulary import UNK


class Unigram(Scheme):
    """A vocabulary of the subwords of a unigram language model."""

    def model(self) -> UnigramModel:
        """Return an untrained unigram model of the `tokenizers` library."""
        return UnigramModel()

    def trainer(self, size: int) -> UnigramTrainer:
        """Return a trainer of the `tokenizers` library for at most `size` subwords."""
        return UnigramTrainer(vocab_size=size, special_tokens=RESERVED, unk_token=RESERVED[UNK])

    def smallest(self, texts: Texts) -> int:
        """Return the smallest possible size of the vocabulary: the number of different characters
        and special ids, plus one for the id that the `tokenizers` library adds.
        """
        return characters_and_specials(texts) + 1

    def settle(self, tokenizer: Tokenizer) -> Tokenizer:
        """Return the tokenizer with rounded scores and sorted subwords, so that it does not depend
        on the order of a hash table.
        """
        pieces = json.loads(tokenizer.to_str())["model"]["vocab"]
        specials, learned = pieces[: len(RESERVED)], pieces[len(RESERVED) :]
        lowest = min((score for piece, score in learned if len(piece) > 1), default=0.0)
        rounded = [(piece, round(max(score, lowest), 6)) for piece, score in learned]
        rounded.sort(key=lambda entry: (-entry[1], entry[0]))
        vocabulary = [(piece, float(score)) for piece, score in specials] + rounded
        tokenizer.model = UnigramModel(vocabulary, unk_id=UNK)
        return tokenizer
