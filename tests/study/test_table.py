"""The table that a sweep ends with."""

import pytest

from ablate.evidence.outcome import rows
from ablate.sweep.end import as_rich


@pytest.fixture
def trained(run):
    def make(arm, seed, bleu, status="finished"):
        scores = {"test/bleu": bleu} if status == "finished" else {}
        return run({"model/residual": arm}, seed, status, **scores)

    return make


def test_mean_and_standard_deviation_over_seeds(trained):
    (row,) = rows([trained("pre_ln", 0, 20.0), trained("pre_ln", 1, 22.0)])
    assert row["test/bleu"] == "21.00 ± 1.41"
    assert row["arm"] == "Pre-LN"
    assert row["parameters"] == "1,000"
    assert row["median seconds"] == "10.0"


def test_every_status_is_counted_and_failed_runs_have_no_score(trained):
    runs = [
        trained("a", 0, 30.0),
        trained("a", 1, 0.0, "diverged"),
        trained("a", 2, 0.0, "collapsed"),
        trained("a", 3, 0.0, "failed"),
    ]
    (row,) = rows(runs)
    assert (row["seeds"], row["diverged"], row["collapsed"], row["failed"]) == ("3", "1", "1", "1")
    assert row["test/bleu"] == "10.00 ± 17.32"


def columns(table_rows, asked=()):
    return [column.header for column in as_rich("t", table_rows, asked).columns]


def test_a_terminal_shows_the_metrics_of_the_claims_alone(run):
    metrics = {"probe/x": 1.0, "probe/y": 2.0, "test/bleu": 3.0, "test/chrf": 4.0}
    table_rows = rows([run({"a": 1}, 0, **metrics)])
    usual = ["arm", "seeds", "test/bleu", "parameters", "median seconds"]
    assert columns(table_rows, {"probe/y"}) == [*usual[:3], "probe/y", *usual[3:]]
    assert columns(table_rows, {"test/chrf"}) == [*usual[:3], "test/chrf", *usual[3:]]
    assert columns(table_rows) == [*usual[:3], "probe/x", "probe/y", *usual[3:]]
    assert {"probe/x", "test/chrf"} <= table_rows[0].keys()  # for the file
