"""The interface and the options of vocabularies, which turn text into subwords and back.

Before a line is cut, every space is replaced by MARK, and one more MARK is put in front: `a man.`
becomes `MARK a`, `MARK man`, `.`. Joining the subwords and replacing MARK by a space restores the
line exactly, double spaces included. MARK is a line feed, which no line contains, so text can never
be mistaken for MARK or for a special token.

A document may contain line feeds. Its vocabulary represents line feeds by LINE_FEED, a code point
that Unicode reserves for internal use (if a document contains this code point, decoding gives a
line feed). LINE_FEED is always a separate subword. A document gets no leading MARK, so the document
may be cut before any space or line feed and encoded in parts.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence, Sized
from itertools import chain, islice
from typing import Annotated, Any, cast

from tokenizers import Regex, Tokenizer, decoders, normalizers, pre_tokenizers
from tokenizers.models import BPE, Model, WordLevel
from tokenizers.models import Unigram as UnigramModel
from tokenizers.trainers import BpeTrainer, Trainer, UnigramTrainer, WordLevelTrainer

from ablate.config.limits import Range
from ablate.data import SPECIALS, UNK
from ablate.errors import UserError, progress

MARK = "\n"
LINE_FEED = "\ufdd0"
# MARK occurs only at the start of a subword, so text never contains one of these names
RESERVED = [f"{name}{MARK}" for name in SPECIALS]
UNLIMITED = 1 << 20  # size of a vocabulary without limit; the library reserves memory for this size
CHUNK = 10_000  # lines passed to the library at a time

Texts = Sequence[Iterable[str]]  # each text can be read more than once


class Scheme(ABC):
    """A method to learn a vocabulary, and the size of the vocabulary.

    `vocab_size` includes the four special ids; null means as many subwords as the text supports (at
    most a million). With `joint`, both languages share one vocabulary; otherwise each language has
    a vocabulary of `vocab_size`.
    """

    def __init__(self, *, vocab_size: Annotated[int | None, Range(1, UNLIMITED)], joint: bool):
        self.vocab_size = vocab_size
        self.joint = joint

    @abstractmethod
    def model(self) -> Model:
        """Return an untrained model of the `tokenizers` library."""

    @abstractmethod
    def trainer(self, size: int) -> Trainer:
        """Return the library's trainer for at most `size` subwords, the first of which are
        RESERVED.
        """

    def pre_tokenizer(self) -> pre_tokenizers.PreTokenizer:
        """Return the pre-tokenizer, which cuts before each space and around punctuation.

        No subword crosses these cuts.
        """
        before_spaces = pre_tokenizers.Split(MARK, "merged_with_next")
        return pre_tokenizers.Sequence([before_spaces, pre_tokenizers.Punctuation("isolated")])

    def smallest(self, texts: Texts) -> int:
        """Return the size of the smallest possible vocabulary for these texts; schemes whose
        vocabulary must have all characters override this method.
        """
        return len(SPECIALS) + 1

    def settle(self, tokenizer: Tokenizer) -> Tokenizer:
        """Return the trained tokenizer with changes that make training deterministic; by default
        without changes.
        """
        return tokenizer

    def signature(self, *, documents: bool) -> str:
        """Return all settings as text, from which the key of the token cache is computed."""
        name = f"{type(self).__module__}.{type(self).__qualname__}"
        trainer = self.trainer(self.vocab_size or UNLIMITED)
        untrained = self.untrained(documents=documents).to_str()
        return f"{name} joint={self.joint} {untrained} {trainer.__getstate__()!r}"

    def train(self, texts: Texts, *, documents: bool = False) -> Tokenizer:
        """Return a tokenizer trained on all `texts`.

        Args:
            texts: one sequence of lines (or parts of documents) for each language.
            documents: whether the texts are documents, which may contain line feeds.

        Raises:
            UserError: this text does not support `vocab_size`.
        """
        if self.vocab_size is None:
            return self._fit(texts, UNLIMITED, documents=documents)
        smallest = self.smallest(texts)
        if self.vocab_size < smallest:
            raise self._refusal(f"needs at least {smallest}")
        tokenizer = self._fit(texts, self.vocab_size, documents=documents)
        if tokenizer.get_vocab_size() < self.vocab_size:
            largest = self._fit(texts, UNLIMITED, documents=documents).get_vocab_size()
            if largest < self.vocab_size:
                raise self._refusal(f"gives at most {largest}")
        return tokenizer

    def _refusal(self, why: str) -> UserError:
        return UserError(f"tokenizer.vocab_size is {self.vocab_size}, but the training text {why}.")

    def _fit(self, texts: Texts, size: int, *, documents: bool) -> Tokenizer:
        tokenizer, trainer = self.untrained(documents=documents), self.trainer(size)
        sized = all(isinstance(text, Sized) for text in texts)
        lines = sum(len(cast(Sized, text)) for text in texts) if sized else None
        trainer.show_progress = False  # type: ignore[attr-defined]
        with progress("learning the vocabulary", lines) as work:
            tokenizer.train_from_iterator(_chunks(texts, work), trainer, lines)
        return self.settle(tokenizer)

    def untrained(self, *, documents: bool) -> Tokenizer:
        """Return an untrained tokenizer for lines or for documents."""
        tokenizer = Tokenizer(self.model())
        marks: list[normalizers.Normalizer] = [normalizers.Replace(" ", MARK)]
        if documents:
            marks = [normalizers.Replace("\n", LINE_FEED), *marks]
            cuts = [pre_tokenizers.Split(LINE_FEED, "isolated"), self.pre_tokenizer()]
            tokenizer.pre_tokenizer = pre_tokenizers.Sequence(cuts)
            back = [decoders.Replace(MARK, " "), decoders.Replace(LINE_FEED, "\n")]
            tokenizer.decoder = decoders.Sequence([decoders.Fuse(), *back])
        else:
            marks = [*marks, normalizers.Prepend(MARK)]
            tokenizer.pre_tokenizer = self.pre_tokenizer()
        tokenizer.normalizer = normalizers.Sequence(marks)
        return tokenizer


def _chunks(texts: Texts, work: Any) -> Iterator[Sequence[str]]:
    for text in texts:
        rest = iter(text)
        while chunk := list(islice(rest, CHUNK)):
            yield chunk
            work.update(len(chunk))


def characters_and_specials(texts: Texts) -> int:
    """Return the size of a vocabulary of all characters in the texts and the four special ids."""
    characters = {MARK}  # represents the space
    for text in chain.from_iterable(texts):
        characters.update(text.replace("\n", LINE_FEED))
    return len(characters - {" "}) + len(SPECIALS)


class Word(Scheme):
    """Whole words.

    A vocabulary of the most frequent words.

    Equation: one token per word, for the `vocab_size` most frequent words; ties are resolved by
        spelling.
    Source: the vocabularies before subwords, for example Bahdanau et al. 2015, arXiv:1409.0473,
        section 4.1.
    What differs from the source: no tokenizer for a particular language: a word is the text between
        two spaces, and each punctuation mark is a word. A word includes the space in front of it.
        So `he` after a bracket and ` he` after a space are two different words, and joining the
        words restores the line exactly.
    What to expect: a word not in the vocabulary becomes UNK, which costs BLEU on real text; on the
        built-in corpus, whose words are few, sequences are short and training is fast.
    """

    # represents an unknown word together with the space in front of it
    unknown = f"{MARK}{RESERVED[UNK]}"

    def model(self) -> WordLevel:
        """Return an untrained word model of the `tokenizers` library."""
        return WordLevel(unk_token=self.unknown)

    def trainer(self, size: int) -> WordLevelTrainer:
        """Return a trainer of the `tokenizers` library for at most `size` words."""
        return WordLevelTrainer(vocab_size=size, special_tokens=[*RESERVED[:UNK], self.unknown])


class Char(Word):
    """Single characters.

    A vocabulary of the most frequent characters.

    Equation: one token per Unicode code point, for the `vocab_size` most frequent code points.
    Source: Lee et al. 2017, arXiv:1610.03017 (character to character).
    What differs from the source: no convolution that shortens the source; a letter and a combining
        accent are two characters.
    What to expect: sequences four to six times as long as with BPE, and a very small embedding
        table. Decoding restores text of known characters exactly.
    """

    unknown = RESERVED[UNK]

    def pre_tokenizer(self) -> pre_tokenizers.PreTokenizer:
        """Return a pre-tokenizer that cuts around every character."""
        return pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")


class Byte(Scheme):
    """Single bytes of UTF-8.

    A vocabulary of the 256 bytes, independent of the training text.

    Equation: one token per byte: id = byte + 4, after the four special ids.
    Source: arXiv:2105.13626, section 3.1 (ByT5).
    What differs from the source: no ids for the masked spans of T5.
    What to expect: 260 ids for every language, and no unknown character. Sequences are as long as
        those of characters for English, twice as long for Greek or Russian, three times as long for
        Chinese. Ids that are not valid UTF-8 decode to U+FFFD.
    """

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


class Bpe(Scheme):
    """Byte-pair encoding over characters.

    A vocabulary of subwords, learnt by byte-pair encoding.

    Equation: start from single characters; join the most frequent pair of neighbouring subwords
        inside words; repeat until there are `vocab_size` subwords.
    Source: Sennrich et al. 2016, arXiv:1508.07909, section 3.2.
    What differs from the source: words are marked at their beginning, not at their end. Punctuation
        is always cut off, so no subword crosses it. Each character that training has not seen
        becomes an UNK.
    What to expect: decoding restores text of known characters exactly. On a small corpus the
        vocabulary ends when every word is a subword, and a larger `vocab_size` is an error.
    """

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


class Unigram(Scheme):
    """Pieces of a unigram language model.

    A vocabulary of the subwords of a unigram language model.

    Equation: a line is cut so that the product of its subwords' probabilities p(x_1) ... p(x_n) is
        largest. Subwords and p maximise the likelihood of the training text, by expectation
        maximisation, which starts from many subwords and drops the least useful.
    Source: Kudo 2018, arXiv:1804.10959, section 3.2.
    What differs from the source: always the best cut, never a sampled cut. In the library, the last
        digits of the scores, and the scores of very rare characters, depend on the order of a hash
        table. Here scores are rounded, rare characters share the lowest score, and ids are ordered
        by score and spelling, so that training is deterministic.
    What to expect: decoding restores text of known characters exactly; consecutive unknown
        characters become a single UNK. The vocabulary may end slightly smaller than `vocab_size`,
        because subwords are dropped in large steps.
    """

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
