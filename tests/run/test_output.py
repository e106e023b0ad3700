"""What a person sees while a run is under way, and what its times are."""

import sys

import pytest

from ablate.train.resolve import resolve
from ablate.train.run import run


@pytest.mark.parametrize("terminal", [True, False])
def test_a_validation_is_a_line_and_a_terminal_shows_lightnings_bar(
    small, compose, capfd, monkeypatch, terminal
):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal)
    run(resolve(compose(*small)))
    seen = capfd.readouterr().err
    assert "4/4" in seen
    for part in ("training", "validation", "test", "val nll=", "val BLEU="):
        assert part in seen
