"""Texts are drawn at random: the same for a seed, with planted ones among them."""

import functools

import pytest

from lab import docstrings


@pytest.fixture(scope="module", autouse=True)
def sources_read_once():
    """Read each source file once for all draws."""
    read = docstrings.texts_of
    with pytest.MonkeyPatch.context() as patch:
        cached = functools.cache(lambda path, kind: [*read(path, kind)])
        patch.setattr(docstrings, "texts_of", cached)
        yield


def drawn(capsys, *words):
    parser = docstrings.Parser("lab.docstrings", "")
    docstrings.add_arguments(parser)
    docstrings.run(parser.read([*words]))
    return capsys.readouterr()


def test_a_draw_depends_on_its_seed_alone(capsys):
    first = drawn(capsys, "seed=1", "number=10").out
    assert first == drawn(capsys, "seed=1", "number=10").out
    assert first != drawn(capsys, "seed=2", "number=10").out
    assert "\n10. ablate/" in first


def test_planted_sentences_replace_drawn_ones(capsys, tmp_path):
    planted = tmp_path / "planted.txt"
    planted.write_text("What it is told.\nHolds its own.\n")
    out, err = drawn(capsys, "seed=1", "number=10", f"planted={planted}")
    texts = out.split("\n\n")
    numbers = [int(n) for n in err.removeprefix("planted: ").split(",")]
    assert {"What it is told.", "Holds its own."} <= {line for line in out.splitlines()}
    assert len(numbers) == 2 and len([t for t in texts if t.strip()]) >= 10


def test_messages_are_drawn_too(tmp_path):
    path = tmp_path / "module.py"
    path.write_text("print('a')\nraise UserError(f'{x} is missing')\n")
    assert [text.text for text in docstrings.texts_of(path, "output")] == ["'a'"]
    assert [text.text for text in docstrings.texts_of(path, "errors")] == ["f'{x} is missing'"]
