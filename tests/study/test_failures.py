"""Runs that failed to learn: left out of means, told as a rate, and deciding where they do."""

import pytest

from ablate.stats.rates import Rates
from ablate.verdict.conclude import conclude

from .conftest import POST, PRE, codes, only


@pytest.fixture
def judged(claim, run, evidence):
    """Return the verdict on BLEU, of so many seeds of which some failed to learn in each arm."""

    def judge(seeds, pre_failed, post_failed, status="collapsed", planned=3, **changes):
        runs = []
        for arm, failed, score in ((PRE, pre_failed, 33.0), (POST, post_failed, 30.0)):
            for seed in range(seeds):
                bad = seed < failed
                bleu = 0.1 if bad else score + 0.1 * (seed % 4)
                runs.append(run(arm, seed, status if bad else "finished", **{"test/bleu": bleu}))
        asked = claim(metric="test/bleu", **changes)
        return conclude(evidence(runs, asked, seeds=planned))

    return judge


@pytest.mark.parametrize("status", ["collapsed", "diverged", "finished"])
def test_a_pair_whose_run_failed_is_left_out_and_the_rate_is_told(judged, status):
    verdict = judged(12, 0, 1, status)
    (entry,) = verdict["claims"]
    assert (entry["pairs"], entry["verdict"]) == (11, "supported")
    assert entry["effect"] == pytest.approx(3.0)
    assert entry["failed_to_learn"]["Post-LN"]["runs"] == 1
    upper = pytest.approx(1 - 0.05 ** (1 / 12))
    assert entry["failed_to_learn"]["Pre-LN"] == {"runs": 0, "of": 12, "interval": [0.0, upper]}
    if status == "finished":  # at chance, so that nothing else says that a seed is missing
        left_out = {"arms": {"Pre-LN": [0, 12], "Post-LN": [1, 12]}}
        assert codes(verdict)["failures_left_out"] == left_out
    assert "runs_went_wrong" not in codes(verdict)  # the same runs are not counted twice
    assert "failures_left_out" not in codes(judged(12, 0, 0))


def test_failures_are_told_under_the_labels_of_the_arms(claim, run, evidence):
    arms = [{"model/residual": x, "model.n_layers": 2} for x in ("pre_ln", "post_ln")]
    runs = [run(arm, seed, **{"test/bleu": 30.0 + seed}) for arm in arms for seed in range(4)]
    runs[0] = run(arms[0], 0, "collapsed", **{"test/bleu": 0.1})
    asked = claim(  # in another order than the factors
        **{"metric": "test/bleu", "treatment": {"model.n_layers": 2, **PRE}},
        baseline={"model.n_layers": 2, **POST},
    )
    factors = ["model/residual", "model.n_layers"]
    verdict = conclude(evidence(runs, asked, factors=factors))
    (entry,) = verdict["claims"]
    assert entry["failed_to_learn"].keys() == {arm["label"] for arm in verdict["arms"]}


@pytest.mark.parametrize(
    ("changes", "failed", "verdict"),
    [
        ({}, (7, 0, 7), "supported"),
        ({}, (7, 7, 0), "refuted"),
        ({"kind": "equivalence"}, (7, 7, 0), "refuted"),
        ({"kind": "non_inferiority"}, (7, 0, 6), "supported"),
        ({}, (4, 0, 4), "supported"),
        ({"planned": 20}, (4, 0, 4), "inconclusive"),  # an interim analysis has little of alpha
    ],
)
def test_rates_decide_where_one_arm_fails_and_the_other_does_not(judged, changes, failed, verdict):
    (entry,) = judged(*failed, **changes)["claims"]
    assert (entry["verdict"], entry["grade"]) == (verdict, "")
    if verdict != "inconclusive":
        assert entry["decided_by_failures"]
        assert entry["seeds_needed"] is None and not entry["sensitivity"]


def test_where_lower_is_better_failing_less_often_is_still_better(claim, run, evidence):
    runs = [run(PRE, s, unigram_nll=6.0, **{"test/nll": 3.0 + s / 100}) for s in range(7)]
    runs += [run(POST, s, "diverged", unigram_nll=6.0) for s in range(7)]
    entry = only(evidence(runs, claim(better="lower")))
    assert (entry["verdict"], entry["decided_by_failures"]) == ("supported", True)


@pytest.mark.parametrize(("metric", "better"), [("test/bleu", "higher"), ("test/nll", "lower")])
@pytest.mark.parametrize("middle", [4, 48])
def test_failed_runs_of_the_middle_level_say_nothing_about_a_trend(
    claim, run, evidence, metric, better, middle
):
    runs = [
        run(
            {"model.n_heads": heads},
            seed,
            "diverged" if heads == middle else "finished",
            unigram_nll=6.0,
            **{"test/bleu": 20.0 + seed * heads / 99, "test/nll": 3.0 - seed * heads / 999},
        )
        for heads in (middle // 2, middle, middle * 2)
        for seed in range(14)
    ]
    alone = {"kind": "trend", "over": "model.n_heads", "treatment": {}, "baseline": {}}
    asked = claim(**alone, metric=metric, better=better, margin=0.0)
    assert only(evidence(runs, asked, factors=["model.n_heads"]))["verdict"] == "inconclusive"


def test_too_few_pairs_that_learned_decide_nothing(judged):
    (entry,) = judged(4, 0, 3)["claims"]
    assert (entry["verdict"], entry["problem"]["code"]) == ("inconclusive", "too_few_learned")


def test_rates_that_are_alike_leave_the_question_to_the_pairs_that_learned(judged):
    (entry,) = judged(12, 3, 3)["claims"]
    assert (entry["verdict"], entry["pairs"]) == ("supported", 9)
    assert not entry.get("decided_by_failures")


GAINS = [3.0, 3.1, 3.2, 3.05, 3.15]  # over the unigram model, in nats


@pytest.mark.parametrize(
    ("post", "stuck"),
    [
        ([1.0, 1.2, 1.1, 1.05, 0.4], 1),
        ([2.0, 0.9, 2.1, 0.9, 0.8], 3),  # most runs of an arm
        ([1.0, 1.2, 1.1, 1.05, 0.9], 0),  # worse, and yet no plateau
        ([0.1, 0.12, 0.11, 0.1, 0.09], 0),  # an arm that is poor as a whole
    ],
)
def test_a_run_far_below_the_best_of_its_arm_is_stuck(claim, run, evidence, post, stuck):
    runs = [
        run(arm, seed, unigram_nll=6.0, **{"test/nll": 6.0 - gain, "test/bleu": 20 * gain})
        for arm, gains in ((PRE, GAINS), (POST, post))
        for seed, gain in enumerate(gains)
    ]
    entry = only(evidence(runs, claim(metric="test/bleu")))
    assert entry["failed_to_learn"]["Post-LN"]["runs"] == stuck
    assert entry["failed_to_learn"]["Pre-LN"]["runs"] == 0
    assert entry["pairs"] == len(GAINS) - stuck


@pytest.mark.parametrize(
    ("table", "decides"),
    [((0, 5, 3, 5), False), ((1, 12, 1, 12), False), ((0, 5, 5, 5), True), ((4, 12, 4, 12), True)],
)
def test_the_mean_has_all_of_alpha_where_no_split_of_the_failures_could_decide(table, decides):
    splits = [*Rates(*table).splits()]
    assert {split.first + split.second for split in splits} == {table[0] + table[2]}
    least = min(min(split.p_at_most(0.0), split.p_at_least(0.0)) for split in splits)
    assert (4 * least <= 0.05) == decides


@pytest.mark.parametrize(
    ("metric", "bleu", "nll", "verdict"),
    [
        ("unstable", 0.0, 5.9, "supported"),
        ("unstable", 5.0, 5.9, "inconclusive"),
        ("unstable", 0.1, 3.0, "inconclusive"),
        ("diverged", 0.0, 5.9, "inconclusive"),
    ],
)
def test_a_run_that_translates_nothing_and_hardly_learns_counts_as_collapsed(
    claim, run, evidence, metric, bleu, nll, verdict
):
    runs = [
        run(arm, seed, unigram_nll=6.0, **{"test/bleu": score, "test/nll": loss})
        for arm, score, loss in ((PRE, 65.0, 1.0), (POST, bleu, nll))
        for seed in range(5)
    ]
    asked = claim(metric=metric, kind="stability", margin=0.0, better="lower")
    assert only(evidence(runs, asked))["verdict"] == verdict


@pytest.mark.parametrize(("train_nll", "pairs"), [(2.9, 6), (3.1, 0)])
@pytest.mark.parametrize("metric", ["gap/nll", "train/accuracy"])
def test_a_collapsed_run_that_knows_its_training_sentences_has_learned_them(
    claim, run, evidence, metric, train_nll, pairs
):
    """It overfits: worse than unigrams on unseen sentences is what its gap is about."""
    runs = []
    for seed in range(6):
        metrics = {"unigram_nll": 6.0, "train/nll": 0.02, "gap/nll": 4.0, "train/accuracy": 0.9}
        runs.append(run(PRE, seed, **metrics))
        metrics |= {"train/nll": train_nll, "gap/nll": 7.0, "train/accuracy": 0.9 + seed / 80}
        runs.append(run(POST, seed, "collapsed", **metrics))
    entry = only(evidence(runs, claim(metric=metric, better="lower", margin=0.1)))
    assert entry["pairs"] == pairs
    assert entry["failed_to_learn"]["Post-LN"]["runs"] == 6 - pairs
