"""Which runs a claim compares, and how they become paired differences."""

import pytest

from ablate.errors import UserError
from ablate.verdict.contrast import contrast

from .conftest import PRE

SCHEDULE = {"factors": ["model/residual", "schedule"]}
WARM, COLD = {"schedule": "noam"}, {"schedule": "no_warmup"}


@pytest.fixture
def factorial(run):
    """Two factors, three seeds: pre_ln is 1 better with warm-up and 20 better without."""
    return [
        run({"model/residual": arm, "schedule": schedule}, seed, **{"test/nll": value + seed})
        for arm, schedule, value in (
            ("pre_ln", "noam", 31.0),
            ("post_ln", "noam", 30.0),
            ("pre_ln", "no_warmup", 25.0),
            ("post_ln", "no_warmup", 5.0),
        )
        for seed in range(3)
    ]


def test_pairs_are_matched_by_seed_not_by_order(claim, arms, evidence):
    runs = arms([30.0, 20.0, 10.0], [28.0, 18.5, 8.0])
    pairs = contrast(claim(), evidence(runs[::-1]))
    assert pairs.seeds == [0, 1, 2]
    assert pairs.differences.tolist() == [2.0, 1.5, 2.0]


def test_seeds_without_a_partner_and_failed_runs_are_no_result(claim, arms, run, evidence):
    runs = [*arms([30.0, 31.0], [20.0, 20.5]), run(PRE, 9, **{"test/nll": 9.0})]
    runs[0] = run(PRE, 0, "failed")
    pairs = contrast(claim(), evidence(runs))
    assert (pairs.seeds, pairs.unpaired) == ([1], [0, 9])
    assert runs[0] in pairs.sides[0].all_runs


@pytest.mark.parametrize(
    ("missing", "levels", "seeds", "difference"),
    [
        ([], {}, [0, 1, 2], 10.5),  # the average over the open factor
        ([("post_ln no_warmup", seed) for seed in range(3)], {}, [0, 1, 2], 1.0),
        ([("post_ln noam", 1)], {}, [0, 2], 10.5),  # a seed needs all levels of both arms
        ([], {"where": COLD, "minus": WARM}, [0, 1, 2], 19.0),
    ],
)
def test_levels_of_both_arms_are_averaged_over(
    claim, factorial, evidence, missing, levels, seeds, difference
):
    runs = [run for run in factorial if (run["arm"], run["seed"]) not in missing]
    pairs = contrast(claim(**levels), evidence(runs, **SCHEDULE))
    assert (pairs.seeds, pairs.differences.tolist()) == (seeds, [difference] * len(seeds))


@pytest.mark.parametrize("status", ["diverged", "collapsed"])
def test_runs_that_went_wrong_count_as_the_worst(claim, arms, run, evidence, status):
    runs = arms([30.0, 31.0], [29.0, 30.0], metric="test/bleu")
    runs[3] = run({"model/residual": "post_ln"}, 1, status)
    pairs = contrast(claim(metric="test/bleu"), evidence(runs))
    assert pairs.differences.tolist() == [1.0, 31.0]
    assert pairs.among_learned().differences.tolist() == [1.0]
    runs = arms([3.0, 4.0], [5.0, 5.0])
    runs[3] = run({"model/residual": "post_ln"}, 1, status, unigram_nll=6.0)
    assert contrast(claim(better="lower"), evidence(runs)).differences.tolist() == [2.0, 2.0]


def test_a_diverged_run_is_not_perfectly_calibrated(claim, arms, run, evidence):
    metric = "test/calibration_error"
    runs = arms([0.1, 0.2], [0.3, 0.4], metric=metric)
    runs[1] = run({"model/residual": "pre_ln"}, 1, "diverged")
    pairs = contrast(claim(metric=metric, better="lower"), evidence(runs))
    assert (pairs.seeds, pairs.unpaired) == ([0], [1])


HEADS = {"factors": ["model.n_heads"]}
TREND = {"kind": "trend", "over": "model.n_heads", "treatment": {}, "baseline": {}}


@pytest.mark.parametrize(
    ("scale", "values"),
    [("log", {1: 3.0, 2: 5.0, 8: 9.0}), ("linear", {1: 3.0, 2: 5.0, 4: 9.0})],
)
def test_a_trend_is_the_least_squares_slope_of_every_seed(claim, run, evidence, scale, values):
    runs = [
        run({"model.n_heads": level}, seed, **{"test/nll": value + seed})
        for level, value in values.items()
        for seed in range(2)
    ]
    slopes = contrast(claim(**TREND, scale=scale), evidence(runs, **HEADS))
    assert slopes.differences == pytest.approx([2.0, 2.0])


@pytest.fixture
def split(claim, translated, evidence):
    """Compare two arms, whose runs and their statistics a test may change first."""
    runs, statistics = translated(3)

    def pairs(metric="test/bleu"):
        return contrast(claim(metric=metric), evidence(runs, statistics=statistics))

    return runs, statistics, pairs


def test_bleu_is_split_into_its_sentences(split):
    runs, statistics, pairs = split
    assert pairs().parts.shape == (3, 200)
    assert pairs().parts.mean(1) == pytest.approx(pairs().differences)
    del statistics["pre_ln 1"]  # a run without statistics
    assert pairs().parts is None and len(pairs().seeds) == 3


def test_a_diverged_run_contributes_nothing_on_any_sentence(split, run):
    runs, statistics, pairs = split
    runs[0] = run({"model/residual": "post_ln"}, 0, "diverged")
    del statistics["post_ln 0"]
    assert pairs().differences[0] == pytest.approx(runs[3]["metrics"]["test/bleu"])
    assert pairs().parts.mean(1) == pytest.approx(pairs().differences)
    assert pairs("test/changed").differences[0] == 1.0


def test_a_score_that_its_statistics_do_not_give_is_refused(split):
    runs, _, pairs = split
    runs[4]["metrics"]["test/bleu"] += 1.0
    with pytest.raises(UserError, match="run pre_ln 1: test/bleu"):
        pairs()


def test_changed_counts_sentences_that_are_translated_differently(split):
    _, statistics, pairs = split
    statistics["pre_ln 0"] = statistics["post_ln 0"]
    statistics["pre_ln 1"] = {"test": statistics["post_ln 1"]["test"].copy()}
    statistics["pre_ln 1"]["test"][:50, 2] += 1
    changed = pairs("test/changed")
    assert changed.differences[:2].tolist() == [0.0, 0.25]
    assert changed.parts[1].sum() == 50
