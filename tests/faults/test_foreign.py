"""The record of a run that came from elsewhere: going on with it runs no code and stays inside."""

import shutil
from pathlib import Path

import pytest
import torch

from ablate.errors import UserError


class Touch:
    """Pickled, it makes a file when it is read."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def test_a_state_with_code_in_it_is_not_run(go, half, tmp_path, capfd):
    state = torch.load(half / "checkpoints" / "last.ckpt", weights_only=True)
    torch.save(state | {"harm": Touch(tmp_path / "harm")}, half / "checkpoints" / "last.ckpt")
    assert not go("half")["reused"]
    out = capfd.readouterr().out
    assert "last.ckpt" in out and "damaged" in out
    assert not (tmp_path / "harm").exists()


def test_nothing_is_emptied_or_written_through_a_link(go, half, tmp_path):
    logs = half / "wandb" / "offline-run-1" / "logs"
    logs.mkdir(parents=True)
    (logs / "debug.log").symlink_to(tmp_path)  # as W&B does
    precious = tmp_path / "precious"
    for name in ("metrics.jsonl", "checkpoints", "tests", "tokenizer/src.json"):
        shutil.rmtree(precious, ignore_errors=True)
        precious.mkdir()
        (precious / "diary").write_text("dear diary\n" * 1000)
        link = half / name
        link.parent.mkdir(exist_ok=True)
        if link.exists():
            link.rename(tmp_path / "aside")
        link.symlink_to(precious / "diary" if link.suffix else precious)
        with pytest.raises(UserError, match=link.name):
            go("half")
        assert [path.name for path in precious.iterdir()] == ["diary"]
        assert len((precious / "diary").read_text()) == 11000
        link.unlink()
        if (tmp_path / "aside").exists():
            (tmp_path / "aside").rename(link)
    assert not go("half")["reused"]


def test_a_folder_of_a_run_that_is_a_link_elsewhere_is_not_emptied(go, half, tmp_path):
    half.rename(tmp_path / "elsewhere")
    (tmp_path / "elsewhere" / "diary").touch()
    half.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UserError, match=half.name):
        go("half", "fresh=true")
    assert (tmp_path / "elsewhere" / "diary").exists()
