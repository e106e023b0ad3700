"""Online or offline, without a prompt and without waiting."""

import os

import pytest

from ablate.errors import UserError
from ablate.wandb import connection
from ablate.wandb.connection import clean_environment, settle


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
    with pytest.raises(UserError, match="no key"):
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
