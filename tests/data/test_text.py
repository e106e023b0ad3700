import gzip

import pytest

from ablate.data import read_lines
from ablate.data.parallel import read_pair
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
        ("a\nb\n \u2003\n\n", ["a", "b"]),
    ],
)
def test_only_the_line_feed_ends_a_line(tmp_path, content, lines):
    assert list(read_lines(file(tmp_path, content.encode()))) == lines
    assert list(read_lines(file(tmp_path, gzip.compress(content.encode()), "t.gz"))) == lines


@pytest.mark.parametrize("end", ["\n\n", "\n \r\n"])
def test_empty_lines_at_the_end_are_no_sentences(tmp_path, end):
    src = file(tmp_path, f"a\r\nb{end}".encode(), "x.en")
    pairs = read_pair(src, file(tmp_path, b"c\nd\n", "x.de"))
    assert [list(side) for side in pairs] == [["a", "b"], ["c", "d"]]


@pytest.mark.parametrize(
    ("theirs", "named"),
    [("a\nb\n", "x.en has 3 lines and .*x.de has 2"), ("a\n \u2003\nc\n", "x.de: line 2 is empty")],
)
def test_lines_without_a_partner_are_refused(tmp_path, theirs, named):
    src, tgt = file(tmp_path, b"a\nb\nc\n", "x.en"), file(tmp_path, theirs.encode(), "x.de")
    with pytest.raises(UserError, match=named):
        read_pair(src, tgt)
