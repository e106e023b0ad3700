import pytest

from ablate.data import BOS, EOS, PAD, SPECIALS, UNK, Pairs
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


def test_words_are_the_most_frequent_ones():
    tokenizer = train(Word, 7, Pairs(["a b. a c a", "b. b."], ["a"])).src
    assert tokenizer.token_labels([UNK, 4, 5, 6]) == ["<unk>", "\u2581a", "\u2581b", "."]
    assert tokenizer.encode_batch(["a c b."]) == [[4, UNK, 5, 6]]


@pytest.mark.parametrize(("scheme", "size"), SCHEMES[:2])
def test_training_is_deterministic(scheme, size, pairs, tmp_path):
    """Maps of the library are ordered anew in every training, also in one process."""
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        train(scheme, size, pairs).save(tmp_path / name)
    first, second = (tmp_path / name / "joint.json" for name in ("first", "second"))
    assert first.read_text() == second.read_text()
