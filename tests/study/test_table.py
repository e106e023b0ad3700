"""The table that a sweep ends with."""

from ablate.study.table import as_markdown, rows

KNOWN = {"unigram_nll": 6.0, "parameters": 1234}


def run(arm, seed, bleu, status="finished"):
    metrics = {**KNOWN, "test/bleu": bleu} if status == "finished" else KNOWN
    return {
        "seed": seed,
        "status": status,
        "metrics": {} if status == "failed" else metrics,
        "levels": {"model/residual": arm, "seed": str(seed)},
        "wall_seconds": 10.0,
    }


def test_mean_and_standard_deviation_over_seeds():
    (row,) = rows([run("pre_ln", 0, 20.0), run("pre_ln", 1, 22.0)], ["model/residual"])
    assert row["test/bleu"] == "21.00 ± 1.41"
    assert row["arm"] == "pre_ln"
    assert row["parameters"] == "1,234"


def test_every_status_is_counted_and_failed_runs_have_no_score():
    runs = [
        run("a", 0, 30.0),
        run("a", 1, 0.0, "diverged"),
        run("a", 2, 0.0, "collapsed"),
        run("a", 3, 0.0, "failed"),
    ]
    (row,) = rows(runs, ["model/residual"])
    assert (row["seeds"], row["diverged"], row["collapsed"], row["failed"]) == ("3", "1", "1", "1")
    assert row["test/bleu"] == "10.00 ± 17.32"


def test_an_arm_of_failed_runs_is_still_shown():
    (row,) = rows([run("a", 0, 0.0, "failed")], ["model/residual"])
    assert row["seeds"] == "0"


def test_seeds_alone_are_one_arm():
    (row,) = rows([run("a", 0, 1.0), run("a", 1, 2.0)], [])
    assert row["arm"] == "the only arm"


def test_markdown_has_a_line_per_arm():
    text = as_markdown(rows([run("a", 0, 1.0), run("b", 0, 2.0)], ["model/residual"]))
    assert len(text.splitlines()) == 4
