import gzip

import pytest

from ablate.data.text import read_lines, read_pair
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


def test_unequal_line_counts_name_both_files(tmp_path):
    src, tgt = file(tmp_path, b"a\nb\n", "x.en"), file(tmp_path, b"a\nb\nc\n", "x.de")
    with pytest.raises(UserError, match=r"x\.en has 2 lines and .*x\.de has 3"):
        read_pair(src, tgt)


def test_empty_lines_name_the_file_and_the_line(tmp_path):
    src = file(tmp_path, b"a\nb\nc\n", "x.en")
    tgt = file(tmp_path, "a\n \u2003\n\n".encode(), "x.de")
    with pytest.raises(UserError, match=r"x\.de: line 2 is empty \(2 empty in all\)"):
        read_pair(src, tgt)


@pytest.mark.parametrize("end", ["\n\n", "\n \r\n"])
def test_empty_lines_at_the_end_are_no_sentences(tmp_path, end):
    src = file(tmp_path, f"a\r\nb{end}".encode(), "x.en")
    pairs = read_pair(src, file(tmp_path, b"c\nd\n", "x.de"))
    assert [list(side) for side in pairs] == [["a", "b"], ["c", "d"]]
