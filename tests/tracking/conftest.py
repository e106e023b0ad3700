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
def inspected():
    """What W&B stored of the one offline run of a folder, by its own reader."""

    def read(folder):
        (run,) = (folder / "wandb").glob("offline-run-*")
        command = [sys.executable, "-m", "wandb", "leet", "inspect", "--json"]
        whole = subprocess.run([*command, "--summary", run], capture_output=True, check=True)
        records = subprocess.run([*command, run], capture_output=True, check=True)
        lines = [json.loads(line) for line in records.stdout.splitlines()]
        (started,) = (line["run"] for line in lines if line["type"] == "run")
        history = [line["history"]["item"] for line in lines if line["type"] == "history"]
        return {**started, **json.loads(whole.stdout), "history": history, "files": run / "files"}

    return read
