"""Text of a test that occurs in train is counted before the training."""

import pytest

from ablate.data.cache import SHORT, overlap_warnings

TALES = [f"Once upon a time {name} went into the wood. ".ljust(SHORT, "!") for name in "ABC"]


@pytest.mark.parametrize(
    ("test", "warned"),
    [
        ([("anders", "other")], False),
        ([("drei", "four"), ("vier", "three")], False),  # a sentence alone is no pair
        ([("neu", "new"), ("drei ", "three"), ("ein Haus", "a house")], True),
    ],
)
def test_pairs_of_train_in_a_test_are_counted(tmp_path, write, parallel, test, warned):
    train = write(tmp_path / "train", [("ein Haus", "a house"), ("zwei", "two"), ("drei", "three")])
    held_out = {"validation": write(tmp_path / "validation", [("x", "y")])}
    corpus = parallel(train, test=write(tmp_path / "test", test), **held_out)
    warnings = [*overlap_warnings(corpus, corpus.read)]
    assert [text.startswith("test: 2 of 3 pairs") for text in warnings] == [True] * warned


@pytest.mark.parametrize(
    ("rule", "train", "test", "warned"),
    [
        ("line", TALES, [TALES[0], "other"], "1 of 1 documents"),
        ("paragraph", TALES, ["a", *TALES[1:]], "2 of 2 documents"),
        ("file", TALES, TALES, "1 of 1 documents"),
        ("line", ["Ay.", "No."], ["Ay.", "No."], ""),  # short ones are repeated by chance
        ("paragraph", TALES, [TALES[0] + TALES[1]], ""),
    ],
)
def test_documents_of_train_in_a_test_are_counted(given, rule, train, test, warned):
    separator = {"line": "\n", "paragraph": "\n\n", "file": "\n"}[rule]
    corpus = given(separator.join(train), separator.join(test), rule=rule)
    warnings = list(overlap_warnings(corpus, corpus.read))
    assert len(warnings) == (2 if warned else 0)  # validation and test have the same text
    assert all(warned in warning for warning in warnings)
