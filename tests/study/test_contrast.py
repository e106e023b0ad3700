"""Which runs a claim compares, and how they become paired differences."""

import pytest

from ablate.errors import UserError
from ablate.verdict.contrast import contrast
from ablate.verdict.sides import ContrastError, names

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
    assert names(claim()) == ["pre_ln", "post_ln"]


def test_seeds_without_a_partner_are_named(claim, arms, run, evidence):
    runs = [
        *arms([30.0, 31.0], [20.0, 20.5]),
        run({"model/residual": "pre_ln"}, 9, **{"test/nll": 9.0}),
    ]
    pairs = contrast(claim(), evidence(runs))
    assert (pairs.seeds, pairs.unpaired) == ([0, 1], [9])


def test_failed_runs_are_no_result(claim, arms, run, evidence):
    runs = arms([30.0, 31.0], [20.0, 20.5])
    runs[0] = run({"model/residual": "pre_ln"}, 0, "failed")
    pairs = contrast(claim(), evidence(runs))
    assert (pairs.seeds, pairs.unpaired) == ([1], [0])
    assert runs[0] in pairs.sides[0].every


def test_an_open_factor_is_averaged_over(claim, factorial, evidence):
    assert contrast(claim(), evidence(factorial, **SCHEDULE)).differences.tolist() == [10.5] * 3


def test_only_levels_that_both_arms_have_are_averaged_over(claim, factorial, evidence):
    runs = [r for r in factorial if r["arm"] != "post_ln no_warmup"]
    assert contrast(claim(), evidence(runs, **SCHEDULE)).differences.tolist() == [1.0] * 3


def test_a_seed_that_lacks_one_level_does_not_enter(claim, factorial, evidence):
    runs = [r for r in factorial if (r["arm"], r["seed"]) != ("post_ln noam", 1)]
    pairs = contrast(claim(), evidence(runs, **SCHEDULE))
    assert (pairs.seeds, pairs.unpaired) == ([0, 2], [1])


def test_minus_subtracts_the_contrast_at_other_levels(claim, factorial, evidence):
    pairs = contrast(claim(where=COLD, minus=WARM), evidence(factorial, **SCHEDULE))
    assert pairs.differences.tolist() == [19.0] * 3


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


def heads(run, values):
    return [
        run({"model.n_heads": level}, seed, **{"test/nll": value + seed})
        for level, value in values.items()
        for seed in range(2)
    ]


HEADS = {"factors": ["model.n_heads"]}
TREND = {"kind": "trend", "over": "model.n_heads", "treatment": {}, "baseline": {}}


@pytest.mark.parametrize(
    ("scale", "values"),
    [("log", {1: 3.0, 2: 5.0, 8: 9.0}), ("linear", {1: 3.0, 2: 5.0, 4: 9.0})],
)
def test_a_trend_is_the_least_squares_slope_of_every_seed(claim, run, evidence, scale, values):
    runs = heads(run, values)
    slopes = contrast(claim(**TREND, scale=scale), evidence(runs, **HEADS))
    assert slopes.differences == pytest.approx([2.0, 2.0])
    assert names(claim(**TREND, scale=scale)) == []


@pytest.mark.parametrize(
    ("levels", "words"), [([4], "fewer than two"), ([0, 4], "0 has no logarithm")]
)
def test_levels_that_make_no_trend(claim, run, evidence, levels, words):
    runs = [run({"model.n_heads": h}, 0, **{"test/nll": 1.0}) for h in levels]
    with pytest.raises(ContrastError, match=words):
        contrast(claim(**TREND), evidence(runs, **HEADS))


def test_bleu_is_split_into_its_sentences(claim, translated, evidence):
    runs, statistics = translated(3)
    pairs = contrast(claim(metric="test/bleu"), evidence(runs, statistics=statistics))
    assert pairs.parts.shape == (3, 200)
    assert pairs.parts.mean(1) == pytest.approx(pairs.differences)


def test_bleu_without_statistics_of_every_run_is_not_split(claim, translated, evidence):
    runs, statistics = translated(3)
    del statistics["pre_ln 1"]
    pairs = contrast(claim(metric="test/bleu"), evidence(runs, statistics=statistics))
    assert pairs.parts is None
    assert len(pairs.seeds) == 3


def test_a_diverged_run_contributes_nothing_on_any_sentence(claim, translated, run, evidence):
    runs, statistics = translated(3)
    runs[0] = run({"model/residual": "post_ln"}, 0, "diverged")
    del statistics["post_ln 0"]
    pairs = contrast(claim(metric="test/bleu"), evidence(runs, statistics=statistics))
    assert pairs.differences[0] == pytest.approx(runs[3]["metrics"]["test/bleu"])
    assert pairs.parts.mean(1) == pytest.approx(pairs.differences)


def test_a_score_that_its_statistics_do_not_give_is_refused(claim, translated, evidence):
    runs, statistics = translated(3)
    runs[4]["metrics"]["test/bleu"] += 1.0
    with pytest.raises(UserError, match="run pre_ln 1: test/bleu is recorded as"):
        contrast(claim(metric="test/bleu"), evidence(runs, statistics=statistics))


def test_changed_counts_sentences_that_are_translated_differently(claim, translated, run, evidence):
    runs, statistics = translated(2)
    statistics["pre_ln 0"] = statistics["post_ln 0"]
    statistics["pre_ln 1"] = {"test": statistics["post_ln 1"]["test"].copy()}
    statistics["pre_ln 1"]["test"][:50, 2] += 1
    pairs = contrast(claim(metric="test/changed"), evidence(runs, statistics=statistics))
    assert pairs.differences.tolist() == [0.0, 0.25]
    assert pairs.parts[1].sum() == 50


def test_all_is_changed_where_one_run_translates_nothing(claim, translated, run, evidence):
    runs, statistics = translated(2)
    del statistics["pre_ln 1"]
    runs[3] = run({"model/residual": "pre_ln"}, 1, "diverged")
    pairs = contrast(claim(metric="test/changed"), evidence(runs, statistics=statistics))
    assert pairs.differences[1] == 1.0
