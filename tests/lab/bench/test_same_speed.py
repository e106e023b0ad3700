"""The table of two checkouts' speeds."""

import pytest

from ablate.errors import UserError
from lab.bench import same_speed


class Rates:
    """A side that was measured already, round by round."""

    def __init__(self, *rates):
        self.rates = list(rates)

    def rate(self, what):
        return self.rates.pop(0)


def test_a_ratio_is_of_one_round(capsys):
    # a machine that slows down from round to round slows both sides
    before, after = Rates(1000, 500, 250), Rates(980, 480, 260)
    assert same_speed.row("train model=tiny", [before, after], 3) == 0.98
    assert "| train model=tiny | 500 | 480 | 0.98 | 0.96 and 1.04 |" in capsys.readouterr().out


def test_each_checkout_is_measured_with_its_own_interpreter_and_folder(monkeypatch, tmp_path):
    started = []

    def run(command, env, python, folder):
        started.append((command, python, folder))
        return {"rate": 7.0}

    monkeypatch.setattr(same_speed, "run", run)
    side = same_speed.Side(tmp_path, tmp_path / "work", seconds=3.0, threads=1, overrides=["a=b"])
    assert side.rate("train model=small") == 7.0
    [(command, python, folder)] = started
    assert (python, folder) == (str(tmp_path / ".venv/bin/python"), tmp_path)
    assert {"train", "model=small", "trainer.precision=32-true", "a=b"} <= set(command)


def test_a_checkout_that_trains_no_weights_is_named(monkeypatch, tmp_path):
    monkeypatch.setattr(same_speed.subprocess, "run", lambda *words, **more: None)
    side = same_speed.Side(tmp_path, tmp_path / "work", seconds=3.0, threads=1, overrides=[])
    with pytest.raises(UserError, match="has trained no weights"):
        side.rate("greedy model=tiny")
