"""What `python -m ablate.verdict` takes, and what it says to the rest."""

import json
import shutil

import pytest

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


def test_a_sweep_that_has_not_ended_has_no_verdict(ask, swept, capsys):
    unended = swept.with_name("unended")
    shutil.copytree(swept / "cells", unended / "cells")
    study = json.loads((swept / "study.json").read_text())
    for key in ("looks", "looked_at"):
        study["registration"].pop(key)
    (unended / "study.json").write_text(json.dumps(study))
    status = ask(f"from={unended}")
    shutil.rmtree(unended)
    assert status == 2
    assert "has not ended" in capsys.readouterr().err


def test_a_sweep_whose_cells_or_links_lead_elsewhere_is_refused(ask, swept, tmp_path, capsys):
    copied = shutil.copytree(swept, tmp_path / "results" / "sweeps" / "name" / "time")
    assert ask(f"from={copied}") == 2
    assert f"outside of {tmp_path / 'results'}" in capsys.readouterr().err
    shutil.rmtree(copied / "cells")
    (copied / "cells").symlink_to(swept / "cells")
    assert ask(f"from={copied}") == 2
    assert "cells is a link that leads out of" in capsys.readouterr().err


def test_a_folder_that_takes_nothing_is_named(ask, swept, tmp_path, capsys):
    (tmp_path / "file").touch()
    assert ask(f"from={swept}", f"to={tmp_path / 'file' / 'below'}") == 2
    assert str(tmp_path / "file" / "below") in capsys.readouterr().err


def test_help(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["verdict", "--help"])
    main()
    assert "from=wandb project=ENTITY/PROJECT group=NAME" in capsys.readouterr().out
