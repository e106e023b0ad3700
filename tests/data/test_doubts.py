"""Suspicious text is named once, with a count and the first line."""

import pytest

from ablate.data.doubts import doubts
from ablate.data.pairs import Corpus, Pairs
from ablate.data.scheme.base import LONGEST, cut_words

PLAIN = [("ein Haus", "a house"), ("zwei Häuser", "two houses"), ("drei", "three")]


class Text(Corpus):
    languages = ("de", "en")
    splits = ("train", "validation", "test")

    def __init__(self, train, test):
        self._pairs = {"train": train, "validation": [("neu", "new")], "test": test}

    def fingerprint(self):
        return ""

    def read(self, split):
        return Pairs(*(list(side) for side in zip(*self._pairs[split], strict=True)))


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        ([("anders", "other")], []),
        ([("drei", "four"), ("vier", "three")], []),  # a sentence alone is no pair
        (
            [("neu", "new"), ("drei ", "three"), ("ein Haus", "a house")],
            ["test: 2 lines", "line 2"],
        ),
        ([("Ha\u0308user", "x")], ["test, de: 1 line", "normal form NFC"]),
        ([("x", "y"), ("\u200b\u200d", "y")], ["test, de: 1 line", "line 2", "no visible"]),
        ([("x", "\ufeff\xad")], ["test, en: 1 line", "no visible"]),
        ([("x", "\u2060"), ("y", "\x00")], ["test, en: 2 lines", "line 1", "no visible"]),
    ],
)
def test_what_is_suspicious_is_said_once(test, expected):
    sentences = list(doubts(Text(PLAIN, test)))
    assert len(sentences) == bool(expected)
    assert all(word in sentences[0] for word in expected)


def test_composed_text_is_named_where_train_is_decomposed():
    (sentence,) = doubts(Text([("Ha\u0308user", "a")], [("Häuser", "b")]))
    assert "normal form NFD" in sentence


@pytest.mark.parametrize(
    "line",
    ["a" * 5 * LONGEST, "→" * (LONGEST + 1), "b c" + "例" * 3 * LONGEST + " d", "é" * 2 * LONGEST],
)
def test_long_words_are_cut_for_the_vocabulary(line):
    parts = cut_words(line)
    assert "".join(parts) == line
    assert len(parts) > 1
    assert max(len(word) for part in parts for word in part.split(" ")) <= LONGEST


@pytest.mark.parametrize(
    "line", ["a" * LONGEST, "ab " * LONGEST, "例，" * LONGEST, "x=" * LONGEST, "", "a\u3000b"]
)
def test_other_lines_stay_as_they_are(line):
    assert cut_words(line) == [line]
