"""What a person at a terminal sees while a run is under way."""

import sys

from ablate.train.resolve import resolve
from ablate.train.run import run


def test_the_bar_counts_steps_and_shows_values(small, compose, capfd, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    run(resolve(compose(*small)))
    seen = capfd.readouterr().err
    assert "4/4" in seen
    for part in ("training", "validation", "test", "val nll=", "val BLEU="):
        assert part in seen
