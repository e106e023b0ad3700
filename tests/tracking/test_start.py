"""How a W&B run is started, with W&B played by what it was asked."""

from unittest.mock import Mock

import pytest
from wandb.sdk.wandb_run import Run

from ablate.wandb.connection import start


@pytest.fixture
def asked(monkeypatch):
    """What `wandb.init` is called with."""
    calls = []

    def init(**given):
        calls.append(given)
        return Mock(spec=Run)

    monkeypatch.setattr("wandb.setup", lambda settings: None)
    monkeypatch.setattr("wandb.init", init)
    return calls


@pytest.mark.parametrize(
    ("mode", "goes_on", "resume"),
    [
        ("online", True, "allow"),
        ("online", False, None),  # replaces an earlier run with this id
        ("offline", True, None),  # is whole in itself, and replaces it when it is uploaded
    ],
)
def test_only_online_can_wandb_go_on_with_a_run(
    asked, monkeypatch, tmp_path, mode, goes_on, resume
):
    monkeypatch.setattr("ablate.wandb.connection.settle", lambda wanted: mode)
    start("auto", tmp_path, "abc", goes_on=goes_on, project="p")
    (given,) = asked
    assert (given["resume"], given["id"], given["project"]) == (resume, "abc", "p")
    assert given["settings"].mode == mode


def test_what_was_left_offline_under_the_same_id_goes(asked, tmp_path):
    names = ("offline-run-20260101_000000-abc", "offline-run-20260101_000000-other")
    for name in (*names, "run-20260101_000000-abc"):
        (tmp_path / "wandb" / name).mkdir(parents=True)
    start("offline", tmp_path, "abc", goes_on=True)
    left = {path.name for path in (tmp_path / "wandb").iterdir()}
    assert left == {names[1], "run-20260101_000000-abc"}
