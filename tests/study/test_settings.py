"""The evidence of a claim names every setting in which its arms differ."""

import pytest

from .conftest import only

SCORES = ((1.0, 1.1, 1.2), (2.0, 2.2, 2.1))  # of the baseline and the treatment


@pytest.fixture
def judged(claim, run, evidence):
    """Judge two arms, whose runs have these further overrides; the entry of verdict.json."""

    def judge(*words, factor="model/residual", levels=("post_ln", "pre_ln"), **study):
        runs = []
        for level, more, scores in zip(levels, words, SCORES, strict=True):
            for seed, score in enumerate(scores):
                made = run({factor: level}, seed, **{"test/nll": score})
                overrides = " ".join(more).format(seed=seed)
                made["command"] = (
                    f"python -m ablate {factor}={level} seed={seed} n_jobs=1 {overrides}"
                )
                runs.append(made)
        arms = {"baseline": {factor: levels[0]}, "treatment": {factor: levels[1]}}
        made = evidence(runs, claim(**arms), **{"factors": [factor], **study})
        return only(made)

    return judge


def test_settings_in_which_arms_differ_are_named(judged):
    assert "settings" not in judged([], ["logger=none", "paths.data=x", "budget.seeds=3"])
    entry = judged(["replicate=1"], ["model.d_ff=643"])
    assert entry["settings"] == {"Post-LN": ["replicate=1"], "Pre-LN": ["model.d_ff=643"]}
    assert "model.d_ff=643" in entry["evidence"] and "replicate=1" in entry["evidence"]


def test_what_a_variant_sets_besides_its_component_is_named(judged):
    arms = {"factor": "variant", "levels": ("baseline", "qk_norm")}
    entry = judged([], ["model/attention=qk_norm", "optimizer.lr=0.008"], **arms)
    assert entry["settings"] == {"QK norm": ["optimizer.lr=0.008"]}
    entry = judged([], ["model/attention=cosine", "~model.bias"], **arms)
    assert entry["settings"] == {"QK norm": ["model/attention=cosine", "~model.bias"]}


def test_values_that_differ_between_seeds_are_all_named_unless_they_are_tuned(judged):
    words = ["optimizer.lr=0.001"], ["optimizer.lr=0.00{seed}"]
    assert "optimizer.lr=0.000 or 0.001 or 0.002" in judged(*words)["evidence"]
    tune = {"key": "optimizer.lr", "values": [0.001], "seeds": [9]}
    tune |= {"metric": "val/nll", "better": "lower"}
    assert "settings" not in judged(*words, tune=tune)
