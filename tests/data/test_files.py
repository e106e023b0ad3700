"""Text files of the user's own: split and cut; what is no text is named."""

import pytest

from ablate.data.files import TextFiles

LINES = [f"line {number} {'x' * (number % 7)}" for number in range(40)]


@pytest.fixture
def corpus(tmp_path, monkeypatch):
    """A corpus of these files, whose names are made paths."""

    def make(*names, content=None, **changes):
        for name, text in (content or {}).items():
            path = tmp_path / name
            path.parent.mkdir(exist_ok=True, parents=True)
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
        keys = dict(validation=None, test=None, held_out=0.2, documents="line") | changes
        for key in ("validation", "test"):
            keys[key] = keys[key] and [str(tmp_path / name) for name in keys[key]]
        return TextFiles(files=[str(tmp_path / name) for name in names], **keys)

    return make


def texts(corpus):
    return {split: list(corpus.read(split).tgt) for split in corpus.splits}


def test_the_beginning_is_trained_on_and_cuts_are_at_line_ends(corpus):
    parts = texts(corpus("a.txt", content={"a.txt": "\n".join(LINES)}))
    assert parts["train"] + parts["validation"] + parts["test"] == LINES
    assert 28 <= len(parts["train"]) <= 34
    assert abs(len(parts["validation"]) - len(parts["test"])) <= 2


def test_folders_are_read_in_the_order_of_names_without_hidden_files(corpus):
    content = {
        "b/2.txt": "c\nd",
        "b/1/x.txt": "a\nb\n",
        "b/.git/x": "no",
        "b/.h": "no",
        "z.txt": "e",
    }
    made = corpus("b", content=content, validation=["z.txt"], test=["z.txt"])
    assert texts(made) == {"train": ["a", "b", "c", "d"], "validation": ["e"], "test": ["e"]}


def test_only_line_feeds_end_lines(corpus):
    content = {
        "a.txt": b"\xef\xbb\xbfs\xc3\xa4ge\r\n\xf0\x9d\x84\x9e\r\n\r\n x\r",
        "b.txt": "last\r\n\u2028",
    }
    split = dict(validation=["b.txt"], test=["b.txt"])
    lines = corpus("a.txt", "b.txt", content=content, **split)
    assert texts(lines)["train"] == ["säge", "𝄞", "", " x\r", "last", "\u2028"]
    whole = corpus("a.txt", "b.txt", documents="file", **split)
    assert texts(whole)["train"] == ["säge\n𝄞\n\n x\r", "last\n\u2028"]
    paragraphs = corpus("a.txt", "b.txt", documents="paragraph", **split)
    assert texts(paragraphs)["train"] == ["säge\n𝄞", " x\r", "last\n\u2028"]


def test_the_fingerprint_follows_text_split_and_rule(corpus):
    content = {"a.txt": "\n".join(LINES), "b.txt": "\n".join(LINES[::-1]), "c.txt": "c\nd\ne"}
    made = [
        corpus("a.txt", content=content),
        corpus("b.txt"),
        corpus("a.txt", "b.txt"),
        corpus("a.txt", held_out=0.4),
        corpus("a.txt", documents="paragraph", held_out=0.4),
        corpus("a.txt", validation=["c.txt"]),
        corpus("a.txt", test=["c.txt"]),
    ]
    assert len({variant.fingerprint() for variant in made}) == len(made)
    assert corpus("a.txt").fingerprint() == made[0].fingerprint()
