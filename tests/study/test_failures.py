"""Runs that failed to learn: left out of means, told as a rate, and deciding where they do."""

import pytest

from ablate.stats.rates import share_interval
from ablate.verdict.conclude import conclude

PRE, POST = {"model/residual": "pre_ln"}, {"model/residual": "post_ln"}


@pytest.fixture
def judged(claim, run, evidence):
    """Return the verdict on BLEU, of so many seeds of which some failed to learn in each arm."""

    def judge(seeds, pre_failed, post_failed, status="collapsed", gain=3.0, **changes):
        runs = []
        for arm, failed, score in ((PRE, pre_failed, 30.0 + gain), (POST, post_failed, 30.0)):
            for seed in range(seeds):
                bad = seed < failed
                bleu = 0.1 if bad else score + 0.1 * (seed % 4)
                runs.append(run(arm, seed, status if bad else "finished", **{"test/bleu": bleu}))
        (entry,) = conclude(evidence(runs, claim(metric="test/bleu", **changes)))["claims"]
        return entry

    return judge


@pytest.mark.parametrize("status", ["collapsed", "diverged", "finished"])
def test_a_pair_whose_run_failed_is_left_out_and_the_rate_is_told(judged, status):
    entry = judged(12, 0, 1, status)
    assert (entry["pairs"], entry["verdict"]) == (11, "supported")
    assert entry["effect"] == pytest.approx(3.0)
    assert entry["failed_to_learn"]["post_ln"]["runs"] == 1
    assert entry["failed_to_learn"]["pre_ln"] == {
        "runs": 0,
        "of": 12,
        "interval": [0.0, pytest.approx(1 - 0.05 ** (1 / 12))],
    }
    assert "1 of 12 runs of post_ln failed to learn" in entry["sentence"]


@pytest.mark.parametrize(
    ("changes", "pre", "post", "verdict"),
    [
        ({}, 0, 7, "supported"),
        ({}, 7, 0, "refuted"),
        ({"kind": "equivalence"}, 7, 0, "refuted"),
        ({"kind": "equivalence"}, 0, 6, "refuted"),
        ({"kind": "non_inferiority"}, 0, 6, "supported"),
        ({"kind": "non_inferiority"}, 7, 0, "refuted"),
    ],
)
def test_rates_decide_where_one_arm_fails_and_the_other_does_not(
    judged, changes, pre, post, verdict
):
    entry = judged(7, pre, post, **changes)
    assert (entry["verdict"], entry["grade"]) == (verdict, "")
    assert entry["decided_by_failures"] and "which decides" in entry["sentence"]
    assert entry["seeds_needed"] is None and not entry["sensitivity"]


def test_where_lower_is_better_failing_less_often_is_still_better(claim, run, evidence):
    runs = [run(PRE, s, unigram_nll=6.0, **{"test/nll": 3.0 + s / 100}) for s in range(7)]
    runs += [run(POST, s, "diverged", unigram_nll=6.0) for s in range(7)]
    (entry,) = conclude(evidence(runs, claim(better="lower")))["claims"]
    assert (entry["verdict"], entry["decided_by_failures"]) == ("supported", True)


@pytest.mark.parametrize(("seeds", "failed"), [(4, 3), (3, 2), (2, 1)])
def test_too_few_pairs_that_learned_decide_nothing(judged, seeds, failed):
    entry = judged(seeds, 0, failed)
    assert entry["verdict"] == "inconclusive"
    assert "pairs of runs have learned" in entry["sentence"]


@pytest.mark.parametrize("failed", [1, 2, 3])
def test_rates_that_are_alike_leave_the_question_to_the_pairs_that_learned(judged, failed):
    entry = judged(12, failed, failed)
    assert (entry["verdict"], entry["pairs"]) == ("supported", 12 - failed)
    assert not entry.get("decided_by_failures")


@pytest.mark.parametrize(
    ("events", "runs", "low", "high"),
    [(0, 5, 0.0, 0.4507), (5, 5, 0.5493, 1.0), (0, 0, 0.0, 1.0), (1, 10, 0.0051, 0.3942)],
)
def test_the_interval_of_a_rate_is_exact(events, runs, low, high):
    assert share_interval(events, runs, 0.9) == pytest.approx((low, high), abs=1e-4)
