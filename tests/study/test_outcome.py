"""The table that a sweep ends with, and steps to a validation nll as a metric of a run."""

import pytest

from ablate.evidence.outcome import rows, value

from .conftest import PRE


def test_mean_and_standard_deviation_are_over_seeds_and_every_status_is_counted(run):
    scores = {"finished": (30.0, 32.0), "diverged": (0.0,), "collapsed": (0.0,), "failed": (0.0,)}
    runs = [
        run(PRE, seed, status, **({"test/bleu": bleu} if status == "finished" else {}))
        for status, values in scores.items()
        for seed, bleu in enumerate(values)
    ]
    (row,) = rows(runs[:2])
    assert (row["test/bleu"], row["arm"], row["parameters"]) == ("31.00 ± 1.41", "Pre-LN", "1,000")
    (row,) = rows([runs[0], *runs[2:]])
    assert (row["seeds"], row["diverged"], row["collapsed"], row["failed"]) == ("3", "1", "1", "1")
    assert row["test/bleu"] == "10.00 ± 17.32"  # a run that failed has no score


RUN = {"status": "finished", "metrics": {}, "curve": {"step": [100, 200], "val/nll": [3.0, 1.0]}}


def test_steps_to_a_loss_lie_between_two_validations():
    assert value(RUN, "steps_to/nll_1.5") == 175
    for status in ("finished", "collapsed"):  # never gets there, and takes all its updates
        assert value(RUN | {"status": status}, "steps_to/nll_0.5") == 200
    diverged = RUN | {"status": "diverged"}
    assert value(diverged, "steps_to/nll_2") == 150
    with pytest.raises(KeyError):  # nobody knows
        value(diverged, "steps_to/nll_0.5")
