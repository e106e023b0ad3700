"""Documents of a text: cut, encoded in parts, counted, and put together again."""

import lzma

import numpy as np
import pytest

from ablate import data
from ablate.data import EOS, SEPARATORS, UNK, Segment, TextLength, split_documents
from ablate.data.cache import open_cache
from ablate.data.files import FILE, Shakespeare
from ablate.data.scheme import Bpe, Byte, Char, Word
from ablate.data.tokenizer import Tokenizer, Tokenizers, write_ids
from ablate.errors import UserError

TEXTS = [
    "a b\n\nc\n",
    "\n\na\n\n\n\nb\n\n",
    "one line",
    "säge\u2028 \t\n  x\n\n<pad>\n<unk>\n\n\ufdd0 ",
    "word " * 50 + "\n\n" + "unbroken" * 30 + "\nend",
]


@pytest.fixture
def short(monkeypatch):
    monkeypatch.setattr(data, "USUAL", 8)
    monkeypatch.setattr(data, "LONGEST", 16)


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("rule", SEPARATORS)
def test_the_text_can_be_put_together_again(short, given, text, rule):
    segments = list(split_documents(text, SEPARATORS[rule]))
    assert "".join(part + (end or "") for part, end in segments) == text
    assert all(len(part) <= 2 * 16 for part, _ in segments)
    separator = SEPARATORS[rule]
    ends = [end for _, end in segments if end is not None]
    assert all(end == separator for end in ends[:-1]) and ends[-1] in (separator, "")
    whole = given(text, rule=rule).read("train").tgt
    parts = text.split(separator) if separator else [text]
    assert whole == (parts[:-1] if parts[-1] == "" else parts)


SCHEMES = [
    Byte(joint=True),
    Char(vocab_size=None, joint=True),
    Bpe(vocab_size=45, joint=True),
    Word(vocab_size=None, joint=True),
]


@pytest.mark.parametrize("scheme", SCHEMES, ids=lambda scheme: type(scheme).__name__)
@pytest.mark.parametrize("text", [TEXTS[0], TEXTS[1], TEXTS[4], " two  spaces and\tone tab \n"])
def test_a_document_comes_back_exactly_and_may_be_encoded_in_parts(short, scheme, text):
    texts = [TEXTS[3].replace("\ufdd0", ""), TEXTS[4], text]
    tokenizer = Tokenizers.train(scheme, ([], texts), documents=True).tgt
    (ids,) = tokenizer.encode_batch([text])
    assert tokenizer.decode_batch([ids]) == [text]
    parts = [part for part, _ in split_documents(text, None)]
    if max(map(len, text.split())) <= 16:
        assert sum(tokenizer.encode_batch(parts), []) == ids
    assert min(ids) > UNK  # and no special token


def test_a_byte_is_an_id_whatever_the_text(tmp_path):
    tokenizer = Tokenizer(Byte(joint=True).train([]))
    tokenizer.save(tmp_path / "bytes.json")
    assert tokenizer.size == 260
    for text in ("", "abc", "säge \n<pad>\n", "𝄞\u2028\x00", "".join(map(chr, range(0x500)))):
        for instance in (tokenizer, Tokenizer.load(tmp_path / "bytes.json")):
            (ids,) = instance.encode_batch([text])
            assert ids == [4 + byte for byte in text.encode()]
            assert instance.decode_batch([ids]) == [text]
    assert tokenizer.decode_batch([[4 + 0xFF]]) == ["\ufffd"]
    text = " säge\n<pad>\n 𝄞\x00"
    library = Byte(joint=True).train([])
    library.encode_special_tokens = True
    assert [library.encode(text).ids] == tokenizer.encode_batch([text])


@pytest.mark.parametrize("scheme", SCHEMES[:2], ids=["byte", "char"])
@pytest.mark.parametrize("rule", SEPARATORS)
def test_lengths_are_those_of_the_text(tmp_path, given, scheme, rule):
    text = "ab ä\n\nc\n\n\nd"
    cache = open_cache(tmp_path, given(text, rule=rule), scheme)
    texts = {"paragraph": 3, "line": 6, "file": 1}[rule]
    between = {"paragraph": 4, "line": 5, "file": 0}[rule]
    tokens = len(text.encode() if isinstance(scheme, Byte) else text) - between + texts
    assert cache.length("train") == TextLength(texts, tokens, 11, 12, 0)
    src, tgt = cache.split("train")
    assert len(src) == len(tgt) == texts and src.tokens == texts
    assert tgt.tokens == tokens == tgt.counts().sum()
    assert tgt.counts()[EOS] == texts


def test_unknown_characters_are_counted_in_bytes(tmp_path, given):
    corpus = given("abc abc", "a€ ¢d\nb", rule="file")
    cache = open_cache(tmp_path, corpus, Char(vocab_size=None, joint=True))
    assert cache.length("validation").unknown == len("€¢d\n".encode())
    words = open_cache(tmp_path, corpus, Word(vocab_size=None, joint=True))
    assert words.length("validation").unknown == len("a€ ¢d\nb".encode())


def test_bits_per_byte_by_hand():
    length = TextLength(texts=2, tokens=10, characters=12, bytes=16, unknown=0)
    assert length.bits_per_byte(np.log(2)) == pytest.approx(10 / 16)
    assert length.nats_per_character(1.2) == pytest.approx(1.0)
    spelled = length._replace(unknown=2)
    assert spelled.bits_per_byte(np.log(2)) == pytest.approx((10 + 16) / 16)


@pytest.mark.parametrize(
    ("line", "unknown"), [("€", 3), ("a €", 4), ("€ a", 3), ("(b", 2), ("a", 0), ("", 0)]
)
def test_the_space_that_is_added_to_a_line_is_not_unknown(tmp_path, line, unknown):
    words = Tokenizers.train(Word(vocab_size=None, joint=True), (["a"], ["a"])).tgt
    lines = [Segment(text, "\n") for text in (line, "€ €")]
    assert write_ids(tmp_path / "tgt", words, lines).unknown == unknown + len("€ €".encode())


def test_shakespeare_is_split_as_by_everybody():
    assert FILE.stat().st_size <= 450_000
    text = lzma.decompress(FILE.read_bytes()).decode()
    assert (len(text), len(set(text))) == (1_115_394, 65)
    whole = Shakespeare(documents="file")
    train, validation, test = ("".join(whole.read(split).tgt) for split in whole.splits)
    assert train == text[:1_003_854] and train + validation == text
    assert validation.endswith(test) and len(test) == len(validation) // 2
    speeches = Shakespeare(documents="paragraph").read("train").tgt
    assert speeches[0].startswith("First Citizen:\nBefore we proceed")
    assert "\n\n".join(speeches) == train
    assert len({Shakespeare(documents=rule).fingerprint() for rule in SEPARATORS}) == 3
    with pytest.raises(UserError, match="dev"):
        whole.segments("dev")
