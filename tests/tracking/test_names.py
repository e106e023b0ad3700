"""Variables and names that W&B refuses: one sentence, before work, once."""

import pytest

from ablate.errors import UserError


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


def test_an_empty_variable_is_as_good_as_none(go, monkeypatch):
    names = ("TAGS", "MODE", "PROJECT", "RUN_GROUP", "ENTITY", "NAME", "NOTES", "CONSOLE", "QUIET")
    for name in (*names, "_DISABLE_STATS", "BASE_URL", "HTTP_TIMEOUT", "RUN_ID"):
        monkeypatch.setenv(f"WANDB_{name}", "")
    monkeypatch.setenv("WANDB_TAGS", " ,,")
    assert go("logger.mode=offline")["status"] == "finished"
