"""The rules: hand-checked cases, agreement with scipy, and runs that went wrong."""

import numpy as np
import pytest
from scipy import stats

from ablate.study.verdict import decide, judge, paired_interval

CLAIM = {
    "id": "c",
    "statement": "A beats B.",
    "source": "a document",
    "kind": "superiority",
    "metric": "test/bleu",
    "where": {},
    "treatment": {"model/residual": "pre_ln"},
    "baseline": {"model/residual": "post_ln"},
    "better": "higher",
    "margin": 1.0,
    "alpha": 0.05,
    "tolerance": 0.0,
}


def run(arm, seed, bleu, status="finished", **levels):
    metrics = {"test/bleu": bleu, "test/nll": 2.0, "unigram_nll": 6.0}
    levels = {"model/residual": arm, "seed": str(seed), **levels}
    return {"seed": seed, "status": status, "metrics": metrics, "levels": levels}


def sweep(pre, post):
    runs = [run("pre_ln", seed, bleu) for seed, bleu in enumerate(pre)]
    return runs + [run("post_ln", seed, bleu) for seed, bleu in enumerate(post)]


@pytest.mark.parametrize(
    ("effect", "low", "high", "margin", "verdict"),
    [
        (3.0, 1.0, 5.0, 1.0, "supported"),
        (0.5, 0.1, 0.9, 1.0, "refuted"),  # real, but smaller than worth naming
        (2.0, -1.0, 5.0, 1.0, "inconclusive"),
        (0.8, 0.2, 1.4, 1.0, "inconclusive"),  # above 0, mean below the margin
        (-2.0, -3.0, -1.0, 0.0, "refuted"),
        (0.5, 0.1, 0.9, 0.0, "supported"),
        (0.5, -0.1, 1.1, 0.0, "inconclusive"),
        (float("nan"), float("-inf"), float("inf"), 1.0, "inconclusive"),
    ],
)
def test_decision_rule(effect, low, high, margin, verdict):
    assert decide(effect, low, high, margin) == verdict


def test_interval_is_scipys_paired_t_interval():
    pairs = np.random.default_rng(0).normal([3, 1], 1, (7, 2))
    mean, low, high = paired_interval(pairs, 0.1)
    d = pairs[:, 0] - pairs[:, 1]
    expected = stats.ttest_rel(pairs[:, 0], pairs[:, 1]).confidence_interval(0.9)
    assert (low, high) == pytest.approx((expected.low, expected.high))
    assert mean == pytest.approx(d.mean())


def test_pairs_are_matched_by_seed_not_by_order():
    runs = sweep([30.0, 20.0, 10.0], [28.0, 18.5, 8.0])
    found = judge(CLAIM, runs[::-1])
    assert found["effect"] == pytest.approx((2 + 1.5 + 2) / 3)
    assert found["seeds"] == [0, 1, 2]
    assert found["verdict"] == "supported"


def test_seeds_without_a_partner_do_not_enter():
    runs = [*sweep([30.0, 31.0], [20.0, 20.5]), run("pre_ln", 9, 99.0)]
    assert judge(CLAIM, runs)["seeds"] == [0, 1]


def test_lower_is_better_turns_the_sign():
    claim = {**CLAIM, "better": "lower"}
    assert judge(claim, sweep([10.0, 11.0], [20.0, 20.5]))["effect"] == pytest.approx(9.75)


@pytest.mark.parametrize("status", ["diverged", "collapsed"])
def test_runs_that_went_wrong_count_as_zero_bleu(status):
    runs = sweep([30.0, 31.0, 32.0], [29.5, 30.5, 31.6])
    runs[-1] = run("post_ln", 2, 31.6, status)
    found = judge(CLAIM, runs)
    assert found["effect"] == pytest.approx((0.5 + 0.5 + 32.0) / 3)
    assert found["among_converged_pairs"]["pairs"] == 2
    assert found["among_converged_pairs"]["effect"] == pytest.approx(0.5)


def test_a_collapsed_run_scores_the_unigram_nll():
    claim = {**CLAIM, "metric": "test/nll", "better": "lower"}
    runs = [run("pre_ln", 0, 30.0), run("post_ln", 0, 0.0, "collapsed")]
    assert judge(claim, runs)["effect"] == pytest.approx(4.0)


def test_failed_runs_are_no_result_and_are_counted():
    runs = sweep([30.0, 31.0, 33.0], [20.0, 20.5, 22.0])
    runs[0]["status"] = "failed"
    found = judge(CLAIM, runs)
    assert found["seeds"] == [1, 2]
    assert found["failed_runs"] == 1


def test_one_pair_decides_nothing():
    assert judge(CLAIM, sweep([90.0], [1.0]))["verdict"] == "inconclusive"


def test_where_selects_runs_by_level():
    runs = [
        run(arm, seed, bleu + seed / 10, schedule=schedule)
        for schedule, gap in (("noam", 0.0), ("no_warmup", 20.0))
        for arm, bleu in (("pre_ln", 30.0 + gap), ("post_ln", 30.0))
        for seed in range(3)
    ]
    claim = {**CLAIM, "where": {"schedule": "no_warmup"}}
    assert judge(claim, runs)["effect"] == pytest.approx(20.0)


def counted(excess, d_head="null"):
    levels = {"model.d_head": d_head, "seed": "0"}
    metrics = {"probe/block_excess": excess}
    return {"seed": 0, "status": "finished", "metrics": metrics, "levels": levels}


def test_exact_claims_hold_in_every_case_or_not_at_all():
    claim = {**CLAIM, "kind": "exact", "metric": "probe/block_excess"}
    assert judge(claim, [counted(0.0)] * 4)["verdict"] == "supported"
    assert judge(claim, [counted(0.0), counted(-3.0)])["verdict"] == "refuted"
    assert judge(claim, [])["verdict"] == "inconclusive"


def test_null_is_a_level():
    claim = {**CLAIM, "kind": "exact", "metric": "probe/block_excess"}
    runs = [counted(0.0), counted(5.0, d_head="16")]
    assert judge({**claim, "where": {"model.d_head": None}}, runs)["verdict"] == "supported"
    assert judge({**claim, "where": {"model.d_head": 16}}, runs)["verdict"] == "refuted"
