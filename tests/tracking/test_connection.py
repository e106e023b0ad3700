"""Online or offline, without a prompt and without waiting; and how a W&B run is started."""

import os
from unittest.mock import Mock

import pytest
from wandb.sdk.wandb_run import Run

from ablate.errors import UserError
from ablate.wandb import connection
from ablate.wandb.connection import clean_environment, settle, start


@pytest.fixture
def key(monkeypatch):
    def configured(yes):
        monkeypatch.setattr(connection, "has_key", lambda: yes)

    return configured


@pytest.mark.parametrize(
    ("has_key", "answers", "mode"),
    [(True, True, "online"), (True, False, "offline"), (False, True, "offline")],
)
def test_auto_needs_a_key_and_a_network(key, monkeypatch, has_key, answers, mode):
    key(has_key)
    monkeypatch.setattr(connection, "reachable", lambda url: answers)
    assert settle("auto") == mode


def test_the_environment_decides_before_the_config(key, monkeypatch):
    key(True)
    monkeypatch.setenv("WANDB_MODE", "disabled")
    assert settle("online") == "disabled"


def test_online_without_a_key_is_an_error_and_no_prompt(key):
    key(False)
    with pytest.raises(UserError):
        settle("online")


def test_only_what_names_another_run_is_forgotten(monkeypatch):
    kept = {"WANDB_API_KEY": "k" * 40, "WANDB_BASE_URL": "http://mine", "WANDB_ENTITY": "team"}
    kept |= {"WANDB_TAGS": "a", "WANDB_NOTES": "why", "WANDB_PROJECT": "p", "WANDB_NAME": "n"}
    foreign = {"WANDB_RUN_ID": "x", "WANDB_SWEEP_ID": "y", "WANDB_SERVICE": "z"}
    for name, value in {**kept, **foreign}.items():
        monkeypatch.setenv(name, value)
    clean_environment()
    assert {name: os.environ.get(name) for name in kept} == kept
    assert not set(foreign) & set(os.environ)


@pytest.fixture
def asked(monkeypatch):
    """Return the arguments with which `wandb.init` was called."""
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


@pytest.fixture
def go(small, compose):
    """Run a probe with extra overrides."""

    def went(*overrides):
        from ablate.train.resolve import resolve
        from ablate.train.run import run

        return run(resolve(compose(*small, "logger=wandb", "probe=parameter_count", *overrides)))

    return went


def test_a_secret_is_not_repeated(go, monkeypatch):
    monkeypatch.setenv("WANDB_API_KEY", " " + "secret" * 7)
    with pytest.raises(UserError, match="WANDB_API_KEY") as error:
        go()
    assert "secret" not in str(error.value)
