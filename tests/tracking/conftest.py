import json
import os

import pytest


@pytest.fixture(autouse=True)
def nobody(monkeypatch, tmp_path):
    """A machine on which nobody uses W&B."""
    for name in [name for name in os.environ if name.startswith("WANDB_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("NETRC", str(tmp_path / "home" / ".netrc"))


@pytest.fixture
def summed_up(inspected):
    """What W&B's own reader says of the one offline run of a folder, or of one of several."""
    return lambda folder, identity="": {
        **json.loads(inspected(_run(folder, identity), "--summary")),
        "files": _run(folder, identity) / "files",
    }


@pytest.fixture
def recorded(inspected):
    """Every record of an offline run, by its type."""

    def read(folder, identity=""):
        lines = [json.loads(line) for line in inspected(_run(folder, identity)).splitlines()]
        return {kind: [x[kind] for x in lines if x["type"] == kind] for kind in ("run", "history")}

    return read


def _run(folder, identity):
    (run,) = (folder / "wandb").glob(f"offline-run-*{identity}")
    return run
