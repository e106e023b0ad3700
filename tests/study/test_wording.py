"""What a verdict says."""

import pytest

from ablate.verdict.conclude import conclude


@pytest.fixture
def said(evidence):
    def sentence(runs, claim, **study):
        (found,) = conclude(evidence(runs, claim, **study))["claims"]
        return found["sentence"]

    return sentence


def test_the_arm_that_is_better_stands_first(said, claim, arms):
    sentence = said(arms([1.0, 1.1, 1.3], [3.0, 3.2, 3.1]), claim(better="lower", margin=0.0))
    assert sentence.startswith("post_ln - pre_ln: +1.967 test nll (nats per token) [")


def test_an_interaction_names_both_levels(said, claim, run):
    runs = [
        run(
            {"model/residual": arm, "schedule": s}, seed, **{"test/bleu": value + seed**0.5 * value}
        )
        for arm, s, value in (
            ("pre_ln", "noam", 31.0),
            ("post_ln", "noam", 30.0),
            ("pre_ln", "no_warmup", 25.0),
            ("post_ln", "no_warmup", 5.0),
        )
        for seed in range(4)
    ]
    asked = claim(metric="test/bleu", where={"schedule": "no_warmup"}, minus={"schedule": "noam"})
    sentence = said(runs, asked, factors=["model/residual", "schedule"])
    assert sentence.startswith(
        "With no_warmup, (pre_ln - post_ln) minus the same with noam: +38.69 test BLEU ["
    )


def test_a_trend_says_per_what(said, claim, run):
    runs = [
        run({"model.n_heads": h}, seed, **{"test/bleu": 20.0 + h * (1 + seed / 10)})
        for h in (1, 2, 4)
        for seed in range(4)
    ]
    asked = claim(
        kind="trend",
        over="model.n_heads",
        metric="test/bleu",
        treatment={},
        baseline={},
        margin=0.5,
    )
    sentence = said(runs, asked, factors=["model.n_heads"])
    assert sentence.startswith(
        "slope per doubling of model.n_heads: +1.72 test BLEU [+1.34, +2.11]"
    )


@pytest.mark.parametrize(
    ("tolerance", "words"),
    [(0.0, "is 0 in 2 of 3 cases"), (1e-6, "is within 1e-06 of 0 in 2 of 3 cases")],
)
def test_an_exact_claim_counts_its_cases(said, claim, run, tolerance, words):
    runs = [run({"a": 1}, i, **{"probe/x": v}) for i, v in enumerate((0.0, 0.0, 0.25))]
    alone = {"kind": "exact", "metric": "probe/x", "treatment": {}, "baseline": {}}
    sentence = said(runs, claim(**alone, margin=0.0, tolerance=tolerance))
    assert words in sentence
    assert sentence.endswith("(largest deviation 0.25): refuted.")
    away = said(runs, claim(**alone, margin=0.2))
    assert away.endswith("is at least 0.2 from 0 in 1 of 3 cases (smallest deviation 0): refuted.")


def test_an_exact_claim_says_in_words_what_was_measured_and_what_its_control_did(said, claim, run):
    runs = [
        run({"model/residual": "post_ln"}, seed, **{"probe/gap": 1e-16, "probe/permuted": moved})
        for seed, moved in enumerate((0.5, 0.25))
    ]
    asked = claim(
        **{"kind": "exact", "metric": "probe/gap", "control": "probe/permuted", "margin": 0.0},
        **{"treatment": {}, "baseline": {}, "tolerance": 1e-9},
        measures="the largest difference from a loop over positions",
        control_measures="the same with the values permuted",
    )
    assert said(runs, asked) == (
        "the largest difference from a loop over positions is within 1e-09 of 0 in 2 of 2 cases "
        "(largest deviation 1e-16); the check can fail: the same with the values permuted is at "
        "least 0.25: supported."
    )
