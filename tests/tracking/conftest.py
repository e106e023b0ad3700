import json
import os
import subprocess
import sys

import pytest


@pytest.fixture(autouse=True)
def nobody(monkeypatch, tmp_path):
    """A machine on which nobody uses W&B."""
    for name in [name for name in os.environ if name.startswith("WANDB_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("NETRC", str(tmp_path / "home" / ".netrc"))


@pytest.fixture
def summed_up():
    """What W&B's own reader says of the one offline run of a folder."""
    return lambda folder: {
        **json.loads(_read(folder, "--summary")),
        "files": _run(folder) / "files",
    }


@pytest.fixture
def recorded():
    """Every record of the one offline run of a folder, by its type."""

    def read(folder):
        lines = [json.loads(line) for line in _read(folder).splitlines()]
        return {kind: [x[kind] for x in lines if x["type"] == kind] for kind in ("run", "history")}

    return read


def _run(folder):
    (run,) = (folder / "wandb").glob("offline-run-*")
    return run


def _read(folder, *flags):
    command = [sys.executable, "-m", "wandb", "leet", "inspect", "--json", *flags, _run(folder)]
    return subprocess.run(command, capture_output=True, check=True).stdout
