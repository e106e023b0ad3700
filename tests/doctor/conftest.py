"""Checks of the doctor read the environment; every test has one without W&B's variables."""

import os

import pytest


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    for name in os.environ:
        if name.startswith("WANDB_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("WANDB_MODE", "offline")
