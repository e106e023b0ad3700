"""Text files of odd bytes: every line is read as it stands, or the file and the line are named."""

import codecs
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from .conftest import FUZZ, check

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800), pytest.mark.filterwarnings("ignore")]
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


@pytest.fixture
def prepare(command, small, tmp_path, monkeypatch):
    """Prepare a run on a corpus up to its training."""

    def leave(*arguments):
        raise SystemExit(0)

    def call(**options):
        words = [word for word in small if not word.startswith("data.")]
        data = {"source": "en", "target": "de", "validation_size": 2, "test_size": 2, **options}
        words += [f"data.{key}={value}" for key, value in data.items()]
        result = command(*words, "data=parallel", "tokenizer=char")
        check(result)
        return result

    monkeypatch.setattr("ablate.train.run.train_and_test", leave)
    return call


def test_corpora(prepare, tmp_path):
    from ablate.data.text import read_pair

    outcomes = Counter()
    files = [tmp_path / f"all.{language}" for language in ("en", "de")]

    @settings(FUZZ, max_examples=200)
    @given(corpora())
    def holds(contents):
        for path, content in zip(files, contents, strict=True):
            path.write_bytes(content)
        result = prepare(train=tmp_path / "all")
        outcomes[result.status] += 1
        if result.status:
            named = ("all.en", "all.de", "data.train", "data.test_size", "data.validation_size")
            assert any(name in result.err for name in named), result.err
            return
        assert [*map(list, read_pair(*files))] == filled(*map(expected, contents))

    holds()
    assert outcomes[0] >= sum(outcomes.values()) / 3, outcomes


def test_groups(prepare, tmp_path):
    for split in ("train", "test"):
        for language in ("en", "de"):
            (tmp_path / f"{split}.{language}").write_text("a b\nc d\nb a\nd c\nab cd\n")
    path = tmp_path / "test.groups"
    outcomes = Counter()

    @settings(FUZZ, max_examples=60)
    @given(texts(least=3, most=5))
    def holds(content):
        path.write_bytes(content)
        result = prepare(
            **{split: tmp_path / split for split in ("train", "test")}, validation=tmp_path / "test"
        )
        outcomes[result.status] += 1
        names = expected(content)
        if result.status:
            assert path.name in result.err
        else:
            assert names is not None and len(filled(names)[0]) <= 5 <= len(names), content

    holds()
    assert outcomes[0] >= sum(outcomes.values()) / 6, outcomes


def test_standard_input(command, small, tmp_path, monkeypatch):
    assert command(*small, "tokenizer=char")[0] == 0
    (run,) = tmp_path.glob("results/runs/*")
    outcomes = Counter()

    @settings(FUZZ, max_examples=100)
    @given(texts(most=8))
    def holds(content):
        (tmp_path / "text").write_bytes(content)
        with (tmp_path / "text").open() as stdin:
            monkeypatch.setattr("sys.stdin", stdin)
            result = command("translate", f"checkpoint={run}")
        check(result)
        outcomes[result.status] += 1
        asked = expected(content)
        if result.status:
            assert asked is None and "standard input" in result.err
            return
        answers = result.out.split("\n")[:-1]
        assert len(answers) == len(asked)
        assert [not a.strip() for a in answers if not a] >= [
            not line.strip() for line in asked if not line
        ]

    holds()
    assert outcomes[0] >= sum(outcomes.values()) / 3, outcomes
