"""Where nothing was learned there is no verdict, whatever the numbers."""

import pytest

from ablate.verdict.conclude import conclude

PRE, POST = {"model/residual": "pre_ln"}, {"model/residual": "post_ln"}
KINDS = ("superiority", "equivalence")


def only(collected):
    (claim,) = conclude(collected)["claims"]
    return claim


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("margin", [2.0])
def test_two_arms_at_bleu_0_are_not_the_same(claim, arms, evidence, kind, margin):
    runs = arms([0.0, 0.01, 0.0, 0.02], [0.01, 0.0, 0.0, 0.0], metric="test/bleu")
    entry = only(evidence(runs, claim(kind=kind, metric="test/bleu", margin=margin)))
    assert entry["verdict"] == "inconclusive"
    assert entry["interval"] and entry["detectable"] is entry["seeds_needed"] is None
    assert entry["problem"]["code"] == "nothing_learned"


@pytest.mark.parametrize("metric", ["test/nll", "test/bleu"])
@pytest.mark.parametrize("kind", KINDS)
def test_two_arms_that_collapsed_are_not_the_same(claim, run, evidence, kind, metric):
    measured = {"heads/encoder_self": 0.2} if metric.startswith("heads") else {}
    runs = [run(arm, s, "collapsed", **measured) for arm in (PRE, POST) for s in range(8)]
    entry = only(evidence(runs, claim(kind=kind, metric=metric)))
    assert entry["verdict"] == "inconclusive"
    assert entry["problem"]["code"] == "nothing_learned"


@pytest.mark.parametrize("status", ["finished", "collapsed"])
def test_one_arm_above_the_floor_is_enough(claim, run, evidence, status):
    runs = [run(PRE, s, **{"test/bleu": 30.0 + s / 10}) for s in range(5)]
    runs += [run(POST, s, status, **{"test/bleu": 0.01 * s}) for s in range(5)]
    assert only(evidence(runs, claim(metric="test/bleu")))["verdict"] == "supported"


def test_runs_that_go_wrong_are_what_stability_is_about(claim, run, evidence):
    runs = [run(arm, s, "diverged") for arm in (PRE, POST) for s in range(20)]
    asked = claim(kind="stability", metric="diverged", better="lower", margin=0.5)
    assert only(evidence(runs, asked))["verdict"] == "refuted"


def test_what_needs_no_learning_has_no_floor(claim, run, evidence):
    runs = [
        run(arm, s, "collapsed", **{"gradient/first/encoder_ratio": ratio * (1 + s / 10)})
        for arm, ratio in ((PRE, 9.0), (POST, 1.0))
        for s in range(5)
    ]
    asked = claim(metric="gradient/first/encoder_ratio")
    assert only(evidence(runs, asked))["verdict"] == "supported"


def test_all_levels_of_a_trend_must_be_at_the_floor(claim, run, evidence):
    def at(best):
        runs = [
            run({"n": n}, s, **{"test/bleu": best * (n == 4) + 0.01 * s})
            for n in (1, 2, 4)
            for s in range(4)
        ]
        asked = claim(kind="trend", over="n", treatment={}, baseline={}, metric="test/bleu")
        return only(evidence(runs, asked, factors=["n"]))

    assert at(0.0)["problem"]["code"] == "nothing_learned"
    assert "problem" not in at(5.0)
