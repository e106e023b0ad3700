import subprocess
import sys

import pytest

from ablate.data import BOS, EOS, PAD, SPECIALS, UNK
from ablate.data.corpus import Pairs
from ablate.data.scheme import LONGEST, Bpe, Byte, Char, Unigram, Word, cut_words
from ablate.data.tokenizer import UNKNOWN, Tokenizers

SCHEMES = [(Bpe, 150), (Unigram, 60), (Word, None), (Char, None)]
SUBWORDS = [(Bpe, 150), (Unigram, 60)]


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


@pytest.mark.parametrize(("scheme", "size"), [*SUBWORDS, (Char, None)])
@pytest.mark.parametrize("line", ["ba  ko.", "  ", "", "BAba ko ."])
def test_known_characters_come_back_exactly(scheme, size, line, pairs):
    tokenizer = train(scheme, size, pairs).src
    assert tokenizer.decode_batch(tokenizer.encode_batch([line])) == [line]


@pytest.mark.parametrize(
    ("scheme", "size"), [(Bpe, None), (Unigram, None), (Word, None), (Char, None)]
)
def test_the_names_of_special_tokens_are_text(scheme, size):
    text = ["<pad> <bos>x <eos> <unk>", "a <pad><eos> b", "<pad>  <unk>"] * 3
    tokenizer = train(scheme, size, Pairs(text, text)).src
    ids = tokenizer.encode_batch(text)
    assert min(map(min, ids)) >= len(SPECIALS)
    assert tokenizer.decode_batch(ids) == text


def test_generated_line_feeds_do_not_end_a_line():
    tokenizer = Tokenizers.train(Byte(joint=True), Pairs(["a"], ["a"])).tgt
    ids = tokenizer.encode_batch(["a\nb\n", "\r\n", "c"])
    assert tokenizer.decode_lines(ids) == ["a b ", "\r ", "c"]


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


def test_joint_and_separate_vocabularies(pairs, tmp_path):
    joint = train(Word, None, pairs)
    joint.save(tmp_path)
    assert Tokenizers.load(tmp_path).joint
    assert joint.src is joint.tgt
    separate = train(Word, None, pairs, joint=False)
    assert separate.src.encode_batch(["BA"]) == [[UNK]]  # capitals stand on the target side only
    assert joint.src.size > max(separate.src.size, separate.tgt.size)


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


def test_a_character_is_a_token(pairs):
    tokenizer = train(Char, None, pairs).src
    (ids,) = tokenizer.encode_batch(["säge ba"])
    assert "".join(tokenizer.pieces(ids)) == "\u2581säge\u2581ba"
    assert len(ids) == 8


@pytest.mark.parametrize("line", ["→" * (LONGEST + 1), "b c" + "例" * 3 * LONGEST + " d"])
def test_long_words_are_cut_for_the_vocabulary(line):
    parts = cut_words(line)
    assert "".join(parts) == line
    assert len(parts) > 1
    assert max(len(word) for part in parts for word in part.split(" ")) <= LONGEST
