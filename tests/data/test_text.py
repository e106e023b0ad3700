import gzip
import io
import random
import tracemalloc

import numpy as np
import pytest

from ablate.data import text
from ablate.data.text import Chosen, read_lines, read_pair, read_text, read_tsv, stream_lines
from ablate.errors import UserError


def file(tmp_path, content: bytes, name: str = "text.en"):
    path = tmp_path / name
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        ("a\nb\n", ["a", "b"]),
        ("a\nb", ["a", "b"]),
        ("a\r\nb\r\n", ["a", "b"]),
        ("a\r\nb\r", ["a", "b"]),
        ("\ufeffa\nb\n", ["a", "b"]),
        ("a\u2028b\x85c\x0bd\rf\n g \n", ["a\u2028b\x85c\x0bd\rf", " g "]),
        ("a\n\nb\n", ["a", "", "b"]),
    ],
)
def test_only_the_line_feed_ends_a_line(tmp_path, content, lines):
    assert list(read_lines(file(tmp_path, content.encode()))) == lines
    assert list(read_lines(file(tmp_path, gzip.compress(content.encode()), "t.gz"))) == lines


def at_once(raw: bytes) -> list[str] | str:
    """What the lines of a file are, or how the complaint about them ends."""
    try:
        content = raw.decode().removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        byte = f"0x{raw[error.start]:02x} at position {error.start}"
        return f"line {line} has the byte {byte} of the text."
    if not content.strip():
        return "is empty; it must hold one sentence per line."
    return content.replace("\r\n", "\n").removesuffix("\n").removesuffix("\r").split("\n")


@pytest.mark.parametrize("block", [1, 8, 1 << 20])
def test_reading_in_parts_is_like_reading_at_once(tmp_path, monkeypatch, block):
    monkeypatch.setattr(text, "BLOCK", block)
    monkeypatch.setattr(text, "CHUNK", 3)
    rng = random.Random(block)
    endings = [b"\n", b"\n", b"\r\n", b"\r"]
    pieces = [*endings, b"a", b"b c", b" ", "ä\u2028".encode(), "\ufeff".encode()]
    for _ in range(400):
        raw = b"".join(rng.choices([*pieces, b"\xff\xc3"], [9] * len(pieces) + [1], k=9))
        try:
            lines = list(read_lines(file(tmp_path, raw)))
        except UserError as error:
            assert str(error).endswith(at_once(raw))
        else:
            assert lines == at_once(raw)


def test_lines_are_a_sequence(tmp_path, monkeypatch):
    monkeypatch.setattr(text, "CHUNK", 4)
    plain = [f"line {i} ä" for i in range(11)]
    rows = np.array([0, 1, 2, 5, 9, 10], np.uint32)
    lines = read_lines(file(tmp_path, "\r\n".join(plain).encode()))
    chosen = Chosen(lines, rows)
    for lazy, expected in ((lines, plain), (chosen, [plain[row] for row in rows])):
        assert len(lazy) == len(expected)
        for i in (0, 3, 5, -1, -6, np.int64(4)):
            assert lazy[i] == expected[i]
        for part in (slice(None), slice(1, 6), slice(-3, None), slice(5, 2), slice(None, None, -2)):
            assert lazy[part] == expected[part]
        assert expected[2] in lazy
        assert list(reversed(lazy)) == expected[::-1]
        with pytest.raises(IndexError):
            lazy[len(expected)]


def test_memory_holds_little_more_than_where_lines_begin(tmp_path, monkeypatch):
    monkeypatch.setattr(text, "BLOCK", 1000)
    monkeypatch.setattr(text, "CHUNK", 10)
    count = 20_000
    path = file(tmp_path, b"twenty bytes a line\n" * count)
    tracemalloc.start()
    pair = read_pair(path, path)
    current, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(pair.src) == count
    # with room for what tests before left to be made; the lines themselves would be 2.8 MB
    assert current < 2 * 4 * count + 200_000
    assert peak < 2 * 6 * count + 200_000


def test_not_utf8_names_line_and_byte(tmp_path):
    path = file(tmp_path, b"good\nb\xffd\n")
    with pytest.raises(UserError, match=r"text\.en is not UTF-8: line 2 .* 0xff at position 6 "):
        read_lines(path)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("inside", ["\u2028", "\r", "\ufeff", "\x0b"])
def test_a_whole_text_is_read_as_its_lines_are(tmp_path, end, inside):
    content = f"\ufeffa{inside}b{end}c{end}".encode()
    path = file(tmp_path, content)
    assert read_text(path) == f"a{inside}b\nc\n"
    assert list(read_lines(path)) == [f"a{inside}b", "c"]
    assert list(stream_lines(io.BytesIO(content), "name")) == [f"a{inside}b", "c"]


@pytest.mark.parametrize("content", [b"", b"\n\n", b"\xef\xbb\xbf"])
def test_empty_file(tmp_path, content):
    with pytest.raises(UserError, match=r"text\.en is empty"):
        read_lines(file(tmp_path, content))


@pytest.mark.parametrize("packed", [b"no gzip", gzip.compress(b"some text\n" * 99, mtime=0)[:-12]])
def test_broken_gzip(tmp_path, packed):
    with pytest.raises(UserError, match=r"t\.gz is not a whole gzip file"):
        read_lines(file(tmp_path, packed, "t.gz"))


def test_missing_file(tmp_path):
    with pytest.raises(UserError, match=r"nothing\.en cannot be read: No such file"):
        read_lines(tmp_path / "nothing.en")


def test_unequal_line_counts_name_both_files(tmp_path):
    src, tgt = file(tmp_path, b"a\nb\n", "x.en"), file(tmp_path, b"a\nb\nc\n", "x.de")
    with pytest.raises(UserError, match=r"x\.en has 2 lines and .*x\.de has 3"):
        read_pair(src, tgt)


def test_empty_lines_name_the_file_and_the_line(tmp_path):
    src = file(tmp_path, b"a\nb\nc\n", "x.en")
    tgt = file(tmp_path, "a\n \u2003\n\n".encode(), "x.de")
    with pytest.raises(UserError, match=r"x\.de: line 2 is empty \(2 empty in all\)"):
        read_pair(src, tgt)


def test_tsv(tmp_path):
    pairs = read_tsv(file(tmp_path, b"a b\tc\r\nd\te\n", "x.tsv"))
    assert list(pairs.src) == ["a b", "d"]
    assert list(pairs.tgt) == ["c", "e"]
    assert pairs.tgt[-1] == "e"


@pytest.mark.parametrize("line", [b"only one", b"a\tb\tc"])
def test_tsv_with_other_columns(tmp_path, line):
    columns = line.count(b"\t") + 1
    with pytest.raises(UserError, match=rf"x\.tsv: line 2 has {columns} tab-separated"):
        read_tsv(file(tmp_path, b"a\tb\n" + line, "x.tsv"))


def test_tsv_with_an_empty_column(tmp_path):
    with pytest.raises(UserError, match=r"x\.tsv, column 2: line 2 is empty"):
        read_tsv(file(tmp_path, b"a\tb\nc\t \n", "x.tsv"))


def test_tatoebas_third_column_is_read_over(tmp_path):
    licence = "CC-BY 2.0 (France) Attribution: tatoeba.org #1 (a) & #2 (b)"
    lines = f"Go.\tVa !\t{licence}\nHi.\tSalut !\t{licence}\n\n"
    assert [*zip(*read_tsv(file(tmp_path, lines.encode(), "x.txt")), strict=True)] == [
        ("Go.", "Va !"),
        ("Hi.", "Salut !"),
    ]


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("1\tGo.\t2\tVa !", r"cut -f2,4 FILE"),
        ("Go.\tVa !\tthird", r"cut -f1,2 FILE"),
        ("Go.", r"data\.train=PREFIX for PREFIX\.en"),
    ],
)
def test_other_columns_are_refused_with_what_helps(tmp_path, line, hint):
    with pytest.raises(UserError, match=rf"line 1 has \d tab-separated columns.*{hint}"):
        read_tsv(file(tmp_path, f"{line}\n".encode(), "x.tsv"))


@pytest.mark.parametrize("end", ["\n", "\n\n", "\n \r\n", ""])
def test_empty_lines_at_the_end_are_no_sentences(tmp_path, end):
    src = file(tmp_path, f"a\r\nb{end}".encode(), "x.en")
    pairs = read_pair(src, file(tmp_path, b"c\nd\n", "x.de"))
    assert [list(side) for side in pairs] == [["a", "b"], ["c", "d"]]


def test_a_gzip_bomb_is_refused_before_it_fills_the_disk(tmp_path, monkeypatch):
    monkeypatch.setattr("ablate.data.text.ALWAYS", 1 << 20)
    bomb = tmp_path / "bomb.gz"
    bomb.write_bytes(gzip.compress(b"a" * (1 << 23)))  # 1,000 times as small
    with pytest.raises(UserError, match=r"bomb\.gz unpacks to more than 100 times its size"):
        read_lines(bomb)
    monkeypatch.setattr("ablate.data.text.ALWAYS", 1 << 23)
    assert len(read_lines(bomb)) == 1
