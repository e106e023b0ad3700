"""The table that a sweep ends with."""

import pytest
from rich.console import Console

from ablate.evidence.table import as_rich, rows


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


def test_a_run_that_was_stopped_does_not_move_the_time_of_an_arm(trained):
    runs = [trained("a", seed, 30.0) for seed in range(3)]
    runs[1]["seconds"] = 1530.0
    assert rows(runs)[0]["median seconds"] == "10.0"


def test_a_run_that_went_wrong_before_a_measurement_has_none(run):
    good = run({"a": 1}, 0, **{"test/length_ratio": 0.9})
    (row,) = rows([good, run({"a": 1}, 1, "diverged")])
    assert row["test/length_ratio"] == "0.900"


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


@pytest.mark.parametrize("width", [70])
def test_a_narrow_terminal_loses_no_word(run, width):
    levels = {"model/position": "sinusoidal", "model.d_ff": 256}
    scores = {"test/bleu": 52.89, "test/nll": 0.542, "test_long/bleu": 14.15}
    table_rows = rows([run(levels, seed, **scores) for seed in (0, 1)])
    console = Console(width=width)
    with console.capture() as capture:
        console.print(as_rich("t", table_rows))
    lines = capture.get().splitlines()
    assert max(map(len, lines)) <= width
    words = {
        word for row in table_rows for name in columns(table_rows) for word in row[name].split()
    }
    assert words <= {word for line in lines for word in line.split()}


def test_the_table_has_the_metric_of_the_claims(run):
    runs = [run({"a": 1}, seed, **{"test/bpb": 1.5 + seed, "test/nll": 2.0}) for seed in (0, 1)]
    (row,) = rows(runs, {"test/bpb"})
    assert row["test/bpb"] == "2.0000 ± 0.7071"
    assert "test/bpb" not in rows(runs)[0]
