"""Texts are drawn at random: the same for a seed, with planted ones among them."""

from lab import docstrings


def test_a_draw_depends_on_its_seed_alone_and_contains_planted_sentences(capsys, tmp_path):
    planted = tmp_path / "planted.txt"
    planted.write_text("What it is told.\nHolds its own.\n")
    parser = docstrings.Parser("lab.docstrings", "")
    docstrings.add_arguments(parser)
    draws = []
    for seed in (1, 1, 2):
        docstrings.run(parser.read([f"seed={seed}", "number=10", f"planted={planted}"]))
        draws.append(capsys.readouterr().out)
    assert draws[0] == draws[1] != draws[2]
    assert "\n10. " in draws[0]
    assert {"What it is told.", "Holds its own."} <= {*draws[0].splitlines()}


def test_messages_are_drawn_too(tmp_path):
    path = tmp_path / "module.py"
    path.write_text("print('a')\nraise UserError(f'{x} is missing')\n")
    assert [text.text for text in docstrings.texts_of(path, "output")] == ["'a'"]
    assert [text.text for text in docstrings.texts_of(path, "errors")] == ["f'{x} is missing'"]
