"""What `python -m ablate.verdict` takes, and what it says to the rest."""

import json

import pytest

from ablate.study.seal import PARTS, write_about
from ablate.verdict import main


@pytest.fixture
def ask(monkeypatch):
    """Call the command line; return its exit status."""

    def asked(*arguments):
        monkeypatch.setattr("sys.argv", ["verdict", *arguments])
        with pytest.raises(SystemExit) as stopped:
            main()
        return stopped.value.code

    return asked


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), "from= is missing"),
        (("form=wandb",), "form is not known; allowed is from=, project=, group=, to="),
        (("experiments/x",), "experiments/x is not known"),
        (("from=",), "from= has no value"),
        (("from=wandb", "group=g"), "from=wandb needs project="),
        (("from=wandb", "project=a/b"), "from=wandb needs group="),
        (("from=somewhere", "project=a/b"), "from=somewhere takes no project="),
        (("from=nowhere",), "study.json is missing"),
        (("from=wandb", "project=a/b", "group=g"), "wandb login"),
    ],
)
def test_a_mistake_costs_one_sentence(ask, capsys, arguments, sentence):
    assert ask(*arguments) == 2
    said = capsys.readouterr().err
    assert sentence in said
    assert said.count("\n") == 1


def test_a_sweep_that_has_not_ended_has_no_verdict(ask, swept, tmp_path, capsys):
    (tmp_path / "cells").symlink_to(swept / "cells")
    study = json.loads((swept / "study.json").read_text())
    for key in ("looks", "looked_at"):
        study["registration"].pop(key)
    write_about(tmp_path, {part: study[part] for part in PARTS}, {}, {})
    assert ask(f"from={tmp_path}") == 2
    assert "has not ended" in capsys.readouterr().err


def test_a_folder_that_takes_nothing_is_named(ask, swept, tmp_path, capsys):
    (tmp_path / "file").touch()
    assert ask(f"from={swept}", f"to={tmp_path / 'file' / 'below'}") == 2
    assert str(tmp_path / "file" / "below") in capsys.readouterr().err


def test_help(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["verdict", "--help"])
    main()
    assert "from=wandb project=ENTITY/PROJECT group=NAME" in capsys.readouterr().out
