"""What `ablate judge` takes for a source, and what it says to the rest."""

import json

import pytest


@pytest.fixture
def ask(command):
    """Call the command line; return its exit status and what it says of a mistake."""

    def asked(*arguments):
        status, _, errors = command("judge", *arguments)
        return status, errors

    return asked


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("wandb", "group=g"), "wandb needs project="),
        (("wandb", "project=a/b"), "wandb needs group="),
        (("somewhere", "project=a/b"), "somewhere takes no project="),
        (("wandb", "project=a/b", "group=g"), "wandb login"),
    ],
)
def test_a_mistake_costs_one_sentence(ask, arguments, sentence):
    status, said = ask(*arguments)
    assert status == 2
    assert sentence in said
    assert said.count("\n") == 1


def test_a_sweep_that_has_not_ended_has_no_verdict(ask, swept, tmp_path):
    (tmp_path / "cells").symlink_to(swept / "cells")
    study = json.loads((swept / "study.json").read_text())
    for key in ("looks", "looked_at"):
        study["registration"].pop(key)
    (tmp_path / "study.json").write_text(json.dumps(study))
    status, said = ask(tmp_path)
    assert status == 2
    assert "has not ended" in said


def test_a_folder_that_takes_nothing_is_named(ask, swept, tmp_path):
    (tmp_path / "file").touch()
    status, said = ask(swept, f"to={tmp_path / 'file' / 'below'}")
    assert status == 2
    assert str(tmp_path / "file" / "below") in said
