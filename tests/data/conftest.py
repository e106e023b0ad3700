"""Small text files and corpora. Nothing of ablate is imported before a test runs."""

import random
from pathlib import Path

import pytest


@pytest.fixture
def sentences():
    """Random sentence pairs of 1 to 20 words with punctuation, always the same."""

    def make(count: int, seed: int = 0) -> list[tuple[str, str]]:
        rng = random.Random(seed)
        stems = ["ba", "ko", "mi", "tu", "re", "säge", "lot", "wen"]
        words = [a + b for a in stems for b in stems]

        def sentence() -> str:
            return " ".join(rng.choices(words, k=rng.randint(1, 20))) + rng.choice([".", "!", ""])

        return [(sentence(), sentence().upper()) for _ in range(count)]

    return make


@pytest.fixture
def write():
    """Write a text pair as PREFIX.en and PREFIX.de."""

    def make(prefix: Path, pairs: list[tuple[str, str]]) -> str:
        for column, language in enumerate(("en", "de")):
            text = "".join(f"{pair[column]}\n" for pair in pairs)
            Path(f"{prefix}.{language}").write_text(text, encoding="utf-8", newline="")
        return str(prefix)

    return make


@pytest.fixture
def parallel():
    """Build a Parallel corpus; keys as in its YAML."""

    def make(train: str, **changes):
        from ablate.data.parallel import Parallel

        keys = dict(
            source="en",
            target="de",
            train=train,
            validation=None,
            test=None,
            validation_size=5,
            test_size=5,
        )
        return Parallel(**keys | changes)

    return make


@pytest.fixture
def corpus(tmp_path, sentences, write, parallel):
    """A corpus of some pairs, 20 of them validation and 30 test."""

    def make(count: int = 250):
        prefix = write(tmp_path / "corpus", sentences(count))
        return parallel(prefix, validation_size=20, test_size=30)

    return make


@pytest.fixture
def given():
    """Build a corpus of documents: a text for train and one for the other splits, cut by a rule."""
    from ablate.data import SEPARATORS, Documents, split_documents

    class Given(Documents):
        languages = "", "en"
        splits = "train", "validation", "test"

        def __init__(self, texts, rule):
            self.texts, self.rule = texts, rule

        def segments(self, split):
            return split_documents(self.texts[split], SEPARATORS[self.rule])

        def fingerprint(self):
            return repr((self.texts, self.rule))

    def make(train, validation=None, rule="paragraph"):
        other = train if validation is None else validation
        return Given({"train": train, "validation": other, "test": other}, rule)

    return make
