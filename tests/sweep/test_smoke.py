"""scale=smoke: does everything run and connect? No verdict."""

import pytest

from ablate.cli.train import fit_smoke_test
from ablate.evidence.gather import gather

STUDY = ["+experiment=preln_vs_postln", "scale=smoke"]


@pytest.mark.parametrize(
    ("words", "more"),
    [
        ([*STUDY, "-m"], ["budget.seeds=2"]),
        ([*STUDY, "seed=0,1", "-m"], []),
        (["+experiment=preln_vs_postln", "-m"], []),
    ],
)
def test_the_seeds_are_those_of_the_scale_unless_they_are_given(words, more):
    assert fit_smoke_test(words) == [*words, *more]


def test_a_study_connects_and_has_no_verdict(command, here, small, tmp_path):
    words = [word for word in small if not word.startswith("scale=")]
    status, _, err = command("+experiment=heads_param_count", "scale=smoke", *words, "-m")
    assert status == 0, err
    (sweep,) = (tmp_path / "results" / "sweeps" / "heads_param_count").iterdir()
    assert not any("rate" in run for run in gather(sweep).runs)  # nothing was trained
    assert (sweep / "table.md").exists()
    assert not (sweep / "verdict.json").exists()
    cells = len(list((sweep / "cells").iterdir()))
    assert cells % 2 == 0  # two seeds, where the experiment has one
    status, output, _ = command("judge", sweep)
    assert (status, output) == (2, "")
