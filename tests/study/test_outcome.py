"""The table that a sweep ends with, and steps to a validation nll as a metric of a run."""

import pytest

from ablate.evidence.outcome import rows, value
from ablate.sweep.end import as_rich

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


@pytest.mark.parametrize(
    ("asked", "shown"),
    [((), ["probe/x", "probe/y"]), ({"probe/y"}, ["probe/y"]), ({"test/chrf"}, ["test/chrf"])],
)
def test_a_terminal_shows_the_metrics_of_the_claims_alone(run, asked, shown):
    metrics = {"probe/x": 1.0, "probe/y": 2.0, "test/bleu": 3.0, "test/chrf": 4.0}
    table_rows = rows([run({"a": 1}, 0, **metrics)])
    columns = [column.header for column in as_rich("t", table_rows, asked).columns]
    assert columns == ["arm", "seeds", "test/bleu", *shown, "parameters", "median seconds"]
    assert {"probe/x", "test/chrf"} <= table_rows[0].keys()  # for the file


RUN = {"status": "finished", "metrics": {}, "curve": {"step": [100, 200], "val/nll": [3.0, 1.0]}}


def test_between_two_validations():
    assert value(RUN, "steps_to/nll_1.5") == 175


def test_a_run_that_never_gets_there_takes_all_its_updates():
    assert value(RUN, "steps_to/nll_0.5") == value(
        RUN | {"status": "collapsed"}, "steps_to/nll_0.5"
    )
    assert value(RUN, "steps_to/nll_0.5") == 200


def test_of_a_run_that_diverged_nobody_knows():
    assert value(RUN | {"status": "diverged"}, "steps_to/nll_2") == 150
    with pytest.raises(KeyError):
        value(RUN | {"status": "diverged"}, "steps_to/nll_0.5")
