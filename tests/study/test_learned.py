"""A claim that could come out in one way only is undecided, as where nothing was learned."""

import pytest

from ablate.verdict.conclude import conclude

from .conftest import POST, PRE, only

SPREAD = (0.0, 0.1, -0.1, 0.05, -0.05)
TREND = {"kind": "trend", "over": "n", "treatment": {}, "baseline": {}}


@pytest.fixture
def judged(claim, arms, evidence):
    """Judge a claim about two arms with these means of a metric, five seeds each."""

    def judge(means, **changes):
        spreads = (SPREAD, SPREAD[1:] + SPREAD[:1])
        made = ([m + x / 100 for x in s] for m, s in zip(means, spreads, strict=True))
        asked = claim(**{"metric": "test/bleu"} | changes)
        return conclude(evidence(arms(*made, metric=asked["metric"]), asked))["claims"][0]

    return judge


@pytest.mark.parametrize(
    ("means", "changes", "reason"),
    [
        ((99.9, 99.8), {}, "no_room"),
        ((0.998, 0.997), {"metric": "test/skill", "margin": 0.05}, "no_room"),
        ((99.9, 99.8), {"kind": "equivalence"}, "at_ceiling"),
        ((1.2, 1.5), {"kind": "non_inferiority", "margin": 2.0}, "no_room"),
        ((30.0, 0.01), {"kind": "non_inferiority"}, "arms_not_learned"),
        ((0.01, 0.02), {}, "nothing_learned"),
        ((0.01, 0.02), {"kind": "equivalence", "margin": 2.0}, "nothing_learned"),
    ],
)
def test_a_scale_without_room_decides_nothing(judged, means, changes, reason):
    entry = judged(means, **changes)
    assert entry["verdict"] == "inconclusive"
    assert entry["problem"]["code"] == reason
    assert entry["interval"] and entry["detectable"] is entry["seeds_needed"] is None


@pytest.mark.parametrize(
    ("means", "changes", "verdict"),
    [
        ((90.0, 99.9), {}, "refuted"),  # the treatment is far worse
        ((0.0, 30.0), {"kind": "non_inferiority"}, "refuted"),  # the treatment failed to learn
        ((30.0, 0.01), {}, "supported"),  # the baseline failed to learn
        ((50.0, 50.01), {"kind": "equivalence"}, "supported"),
    ],
)
def test_room_to_differ_leaves_the_rule(judged, means, changes, verdict):
    entry = judged(means, **changes)
    assert entry["verdict"] == verdict and "problem" not in entry


@pytest.mark.parametrize("metric", ["test/nll", "test/bleu"])
@pytest.mark.parametrize("kind", ["superiority", "equivalence"])
def test_two_arms_that_collapsed_are_not_the_same(claim, run, evidence, kind, metric):
    runs = [run(arm, s, "collapsed") for arm in (PRE, POST) for s in range(8)]
    assert only(evidence(runs, claim(kind=kind, metric=metric)))["verdict"] == "inconclusive"


def test_runs_that_go_wrong_are_what_stability_is_about(claim, run, evidence):
    runs = [run(arm, s, "diverged") for arm in (PRE, POST) for s in range(20)]
    asked = claim(kind="stability", metric="diverged", better="lower", margin=0.5)
    assert only(evidence(runs, asked))["verdict"] == "refuted"


@pytest.mark.parametrize("value", [0.0, 60.0])
def test_arms_that_compute_the_same_are_not_better(claim, run, evidence, value):
    runs = [run(arm, s, **{"test/chrf": value + s}) for arm in (PRE, POST) for s in range(6)]
    entry = only(evidence(runs, claim(metric="test/chrf", margin=0.5)))
    assert (entry["verdict"], entry["problem"]["code"]) == ("inconclusive", "identical")


@pytest.mark.parametrize("metric", ["heads/encoder_self", "residual/drift"])
def test_what_is_measured_inside_is_about_models_that_learned(claim, run, evidence, metric):
    def verdict(bleu, **more):
        runs = [
            run(arm, s, **{metric: x * (1 + s / 100), "test/bleu": score, **more})
            for arm, x, score in ((PRE, 5.0, 30.0), (POST, 1.0, bleu))
            for s in range(5)
        ]
        return only(evidence(runs, claim(metric=metric)))["verdict"]

    assert (verdict(30.0), verdict(0.01)) == ("supported", "inconclusive")
    assert verdict(0.01, steps=0) == "supported"  # untrained on purpose


def test_what_needs_no_learning_has_no_floor(claim, run, evidence):
    runs = [
        run(arm, s, "collapsed", **{"gradient/first/encoder_ratio": ratio * (1 + s / 10)})
        for arm, ratio in ((PRE, 9.0), (POST, 1.0))
        for s in range(5)
    ]
    asked = claim(metric="gradient/first/encoder_ratio")
    assert only(evidence(runs, asked))["verdict"] == "supported"


@pytest.mark.parametrize(("failing", "verdict"), [(1, "supported"), (2, "inconclusive")])
def test_of_an_interaction_one_arm_may_fail(claim, run, evidence, failing, verdict):
    scores = {(6, "pre_ln"): 30.0, (6, "post_ln"): 0.01, (2, "pre_ln"): 31.0, (2, "post_ln"): 30.0}
    if failing == 2:
        scores |= {(2, "post_ln"): 0.02, (2, "pre_ln"): 20.0}
    runs = [
        run({"n": n, "model/residual": arm}, s, **{"test/bleu": score * (1 + s / 100 * (n - 1))})
        for (n, arm), score in scores.items()
        for s in range(5)
    ]
    asked = claim(metric="test/bleu", where={"n": 6}, minus={"n": 2})
    assert only(evidence(runs, asked, factors=["n", "model/residual"]))["verdict"] == verdict


def test_the_loss_does_not_hide_a_bleu_at_its_floor(claim, run, evidence):
    other = {"model/residual": "none"}
    runs = [
        run(arm, s, unigram_nll=5.2, **{"test/nll": nll + s / 1000, "test/bleu": bleu})
        for arm, nll, bleu in ((PRE, 4.8, 0.01), (POST, 4.9, 0.02), (other, 1.0, 60.0))
        for s in range(5)
    ]
    assert only(evidence(runs, claim(better="lower", margin=0.01)))["verdict"] == "inconclusive"


@pytest.mark.parametrize(("best", "problem"), [(0.0, "nothing_learned"), (5.0, None)])
def test_all_levels_of_a_trend_must_be_at_the_floor(claim, run, evidence, best, problem):
    runs = [
        run({"n": n}, s, **{"test/bleu": best * (n == 4) + 0.01 * s})
        for n in (1, 2, 4)
        for s in range(4)
    ]
    entry = only(evidence(runs, claim(**TREND, metric="test/bleu"), factors=["n"]))
    assert entry.get("problem", {}).get("code") == problem
