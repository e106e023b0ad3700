import subprocess
import sys

import pytest

from ablate.data import BOS, EOS, PAD, SPECIALS, UNK
from ablate.data.corpus import Pairs
from ablate.data.scheme import Bpe, Char, Unigram, Word
from ablate.data.tokenizer import UNKNOWN, Tokenizers

SCHEMES = [(Bpe, 150), (Unigram, 60), (Word, None), (Char, None)]


@pytest.fixture
def pairs(sentences) -> Pairs:
    return Pairs(*map(list, zip(*sentences(200), strict=True)))


def train(scheme, size, pairs, joint=True) -> Tokenizers:
    return Tokenizers.train(scheme(vocab_size=size, joint=joint), pairs)


@pytest.mark.parametrize(("scheme", "size"), SCHEMES)
def test_known_text_comes_back_exactly(scheme, size, pairs):
    tokenizer = train(scheme, size, pairs).src
    lines = [*pairs.src, *pairs.tgt]
    ids = tokenizer.encode_batch(lines)
    assert tokenizer.decode_batch(ids) == lines
    assert min(map(min, ids)) == len(SPECIALS)
    assert max(map(max, ids)) < tokenizer.size


@pytest.mark.parametrize(
    ("scheme", "size"), [(Bpe, None), (Unigram, None), (Word, None), (Char, None)]
)
def test_the_names_of_special_tokens_are_text(scheme, size):
    text = ["<pad> <bos>x <eos> <unk>", "a <pad><eos> b", "<pad>  <unk>"] * 3
    tokenizer = train(scheme, size, Pairs(text, text)).src
    ids = tokenizer.encode_batch(text)
    assert min(map(min, ids)) >= len(SPECIALS)
    assert tokenizer.decode_batch(ids) == text


@pytest.mark.parametrize(("scheme", "size"), SCHEMES)
def test_unknown_characters_become_unk(scheme, size, pairs):
    tokenizer = train(scheme, size, pairs).src
    (ids,) = tokenizer.encode_batch(["baba \u6728."])
    assert ids.count(UNK) == 1
    (text,) = tokenizer.decode_batch([[PAD, BOS, *ids, EOS, PAD]])
    assert text == f"baba {UNKNOWN}."


@pytest.mark.parametrize(
    ("scheme", "size"), [(Bpe, 60), (Unigram, None), (Word, None), (Char, None)]
)
def test_saved_and_loaded(scheme, size, pairs, tmp_path):
    trained = train(scheme, size, pairs, joint=False)
    trained.save(tmp_path)
    loaded = Tokenizers.load(tmp_path)
    assert not loaded.joint
    for side in ("src", "tgt"):
        before, after = getattr(trained, side), getattr(loaded, side)
        lines = [*pairs.src, "<pad> \u6728", "  "]
        assert after.size == before.size
        assert after.encode_batch(lines) == before.encode_batch(lines)


PROGRAM = """
import random, sys
from ablate.data.corpus import Pairs
from ablate.data.tokenizer import Tokenizers
from ablate.data.scheme import {name}
from pathlib import Path
rng = random.Random(1)
words = ["".join(rng.choices("aeioubdfklmnprst\\u00fc", k=rng.randint(2, 9))) for _ in range(300)]
text = [" ".join(rng.choices(words, k=5)) + rng.choice(".!?\\u00bf") for _ in range(300)]
scheme = {name}(vocab_size={size}, joint=True)
Tokenizers.train(scheme, Pairs(text, text)).save(Path(sys.argv[1]))
"""


@pytest.mark.parametrize(("scheme", "size"), [(Bpe, 200), (Unigram, 100)])
def test_training_is_deterministic(scheme, size, tmp_path):
    program = PROGRAM.format(name=scheme.__name__, size=size)
    saved = []
    for process in range(2):
        folder = tmp_path / str(process)
        folder.mkdir()
        subprocess.run([sys.executable, "-c", program, str(folder)], check=True)
        saved.append((folder / "joint.json").read_text())
    assert saved[0] == saved[1]


def test_words_are_the_most_frequent_ones():
    tokenizer = train(Word, 7, Pairs(["a b. a c a", "b. b."], ["a"])).src
    assert tokenizer.pieces([UNK, 4, 5, 6]) == ["<unk>", "\u2581a", "\u2581b", "."]
    assert tokenizer.encode_batch(["a c b."]) == [[4, UNK, 5, 6]]
