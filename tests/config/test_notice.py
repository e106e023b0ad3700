"""A notice is printed once, by the first process of a run."""

import pytest
from pytorch_lightning.utilities import rank_zero_only

from ablate.process import say_once


@pytest.mark.parametrize(
    ("rank", "sentences", "printed"), [(0, ["a", "a", "b"], "a\nb\n"), (1, ["c", "d"], "")]
)
def test_only_the_first_process_prints_a_notice(rank, sentences, printed, monkeypatch, capsys):
    say_once.cache_clear()
    monkeypatch.setattr(rank_zero_only, "rank", rank, raising=False)
    for sentence in sentences:
        say_once(sentence)
    assert capsys.readouterr().out == printed
