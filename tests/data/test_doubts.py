"""Suspicious text is named once, with a count and the first line."""

import pytest

from ablate.data.documents import SEPARATORS, Documents, split_documents
from ablate.data.doubts import doubts, long_words
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


class Stories(Documents):
    languages = ("", "en")
    splits = ("train", "validation", "test")

    def __init__(self, rule, **text):
        self._rule, self._text = rule, {"validation": "new", **text}

    def fingerprint(self):
        return ""

    def segments(self, split):
        return split_documents([self._text[split]], SEPARATORS[self._rule])


LONG_TALES = [f"Once upon a time {name} went into the wood. " * 4 for name in ("Ann", "Bo", "Cy")]
HUGE = "It went on and on, and nobody knew why. " * 4_000  # several segments


@pytest.mark.parametrize(
    ("rule", "train", "test", "expected"),
    [
        ("line", LONG_TALES, [LONG_TALES[0], "other"], ["test: 1 document ", "document 1)"]),
        ("paragraph", LONG_TALES, ["a", *LONG_TALES[1:]], ["test: 2 documents", "document 2)"]),
        ("paragraph", [HUGE, "b"], ["a", "b", HUGE], ["test: 1 document ", "document 3)"]),
        ("file", LONG_TALES, LONG_TALES, ["test: 1 document "]),
        ("line", ["Ay.", "No."], ["Ay.", "No."], []),  # short ones are repeated by chance
        ("paragraph", LONG_TALES, [LONG_TALES[0] + LONG_TALES[1]], []),
    ],
)
def test_documents_of_train_in_a_test_are_counted(rule, train, test, expected):
    separator = SEPARATORS[rule] or "\n"
    corpus = Stories(rule, train=separator.join(train), test=separator.join(test))
    sentences = list(doubts(corpus))
    assert len(sentences) == bool(expected)
    assert all(word in sentences[0] for word in expected)


@pytest.mark.parametrize(
    ("text", "count", "first"),
    [
        (["a", "b" * (LONGEST + 1)], 1, 2),
        (["例" * 2 * LONGEST, "c", "d " + "é" * 3 * LONGEST], 2, 1),
        (["a b", "", "x" * 100 * LONGEST], 1, 3),
        (["x" * LONGEST, "a " * LONGEST], 0, 0),
    ],
)
def test_lines_with_words_cut_for_the_vocabulary_are_counted(text, count, first):
    pairs = Text([(line, "short") for line in text], [("x", "y")])
    for corpus in (pairs, Stories("paragraph", train="\n".join(text), test="y")):
        sentences = list(long_words(corpus))
        assert len(sentences) == bool(count)
        assert not count or f": {count} line" in sentences[0]
        assert not count or f"line {first})" in sentences[0]
