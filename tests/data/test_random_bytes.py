"""Text files of odd bytes: every line is read as it stands, or the file and the line are named."""

import codecs
import io
from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ablate.data.text import read_pair, stream_lines
from ablate.errors import UserError

FUZZ = settings(
    derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck)
)
PLAIN = [b"a b c", b"word word", b"x", "Wörter äöü".encode(), b"one , two ."]
ODD = [
    *(
        b"",
        b" ",
        b"\t",
        b"\r",
        b"a\rb",
        b"a\tb",
        b"\0",
        b"a\0b",
        b"\x1b[31mred",
        b"\x7f",
        b"a\x0cb",
    ),
    *(
        "a\u2028b".encode(),
        "a\x85b".encode(),
        "\u200b".encode(),
        "a\u200bb".encode(),
        b"\xef\xbb\xbf",
    ),
    *(
        "\u202eabc".encode(),
        "e\u0301".encode(),
        "日本語".encode(),
        "🙂👩‍👩‍👧".encode(),
        "\xa0".encode(),
    ),
    *(b"\xed\xa0\x80", b"\xff\xfe", b"a\xe4b", b"\xc3", b"\xf5\x80\x80\x80", "a".encode("utf-16")),
    *(
        b"<pad>",
        b"<s> </s>",
        b"<unk>",
        b"x" * 20_000,
        b"x " * 5_000,
        "▁a".encode(),
        b"[b]",
        b"${x}",
    ),
]
odd_lines = (st.sampled_from(ODD) | st.binary(max_size=6)).filter(lambda line: b"\n" not in line)


@st.composite
def texts(draw, least=0, most=30):
    """The bytes of a file: lines of which a few are odd, with some ending and some mark."""
    plain = draw(st.lists(st.sampled_from(PLAIN), min_size=least, max_size=most))
    body = [b"%s %d" % (line, number) for number, line in enumerate(plain)]
    for line in draw(st.lists(odd_lines, max_size=2)):
        body.insert(draw(st.integers(0, len(body))), line)
    ending = draw(st.sampled_from([b"\n", b"\n", b"\r\n"]))
    mark = draw(st.sampled_from([b"", b"", b"", codecs.BOM_UTF8]))
    return mark + ending.join(body) + draw(st.sampled_from([ending, b"", ending * 3]))


@st.composite
def corpora(draw):
    """Two files that mostly have as many lines as each other."""
    source = draw(texts(least=8))
    count = source.count(b"\n")
    target = b"".join(b"%d\n" % number for number in range(count + (not source.endswith(b"\n"))))
    odd = draw(texts())
    return draw(
        st.sampled_from([(source, target), (target, source), (target, target), (source, odd)])
    )


def expected(content):
    """The lines of a file by its bytes alone; None where it is not UTF-8."""
    try:
        text = content.removeprefix(codecs.BOM_UTF8).decode()
    except UnicodeDecodeError:
        return None
    split = [line.removesuffix("\r") for line in text.split("\n")]
    return split[:-1] if split[-1] == "" else split


def filled(*files):
    """Files without the empty lines that end all of them."""
    last = max((n for part in files for n, line in enumerate(part, 1) if line.strip()), default=0)
    return [part[:last] for part in files]


def test_pairs_of_files(tmp_path):
    outcomes, files = Counter(), [tmp_path / f"all.{language}" for language in ("en", "de")]

    @settings(FUZZ, max_examples=100)
    @given(corpora())
    def holds(contents):
        for path, content in zip(files, contents, strict=True):
            path.write_bytes(content)
        try:
            pairs = read_pair(*files)
        except UserError as error:
            outcomes["refused"] += 1
            assert "all.en" in str(error) or "all.de" in str(error)
        else:
            outcomes["read"] += 1
            assert [*map(list, pairs)] == filled(*map(expected, contents))

    holds()
    assert min(outcomes.values()) >= 20, outcomes


def test_streams():
    @settings(FUZZ, max_examples=60)
    @given(texts(most=8))
    def holds(content):
        lines = expected(content)
        if lines is None:
            with pytest.raises(UserError, match="standard input"):
                list(stream_lines(io.BytesIO(content), "standard input"))
        else:
            assert list(stream_lines(io.BytesIO(content), "standard input")) == lines

    holds()
