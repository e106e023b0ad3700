"""The evidence of a claim names every setting in which its arms differ."""

import pytest

from ablate.verdict.conclude import conclude
from ablate.words.answer import with_words

ARMS = {"post_ln": (1.0, 1.1, 1.2), "pre_ln": (2.0, 2.2, 2.1)}


@pytest.fixture
def judged(claim, run, evidence):
    """Judge two arms, whose runs have these further overrides; the entry of verdict.json."""

    def judge(words, factor="model/residual", levels=("post_ln", "pre_ln"), **study):
        runs = []
        for level, scores in zip(levels, ARMS.values(), strict=True):
            for seed, score in enumerate(scores):
                made = run({factor: level}, seed, **{"test/nll": score})
                more = " ".join(words.get(level, ())).format(seed=seed)
                made["command"] = f"python -m ablate {factor}={level} seed={seed} n_jobs=1 {more}"
                runs.append(made)
        arms = {"baseline": {factor: levels[0]}, "treatment": {factor: levels[1]}}
        made = evidence(runs, claim(**arms), **{"factors": [factor], **study})
        return with_words(conclude(made))["claims"][0]

    return judge


def test_the_levels_of_an_arm_name_its_settings(judged):
    entry = judged({"pre_ln": ["logger=none", "paths.data=x", "budget.seeds=3"]})
    assert "settings" not in entry


def test_a_width_that_was_matched_is_named(judged):
    entry = judged({"pre_ln": ["model.d_ff=643"], "post_ln": ["replicate=1"]})
    assert entry["settings"] == {"Post-LN": ["replicate=1"], "Pre-LN": ["model.d_ff=643"]}
    assert "model.d_ff=643" in entry["evidence"] and "replicate=1" in entry["evidence"]


def test_what_a_variant_sets_besides_its_component_is_named(judged):
    arms = {"factor": "variant", "levels": ("baseline", "qk_norm")}
    words = ["model/attention=qk_norm", "optimizer.lr=0.008"]
    entry = judged({"qk_norm": words}, **arms)
    assert entry["settings"] == {"QK norm": ["optimizer.lr=0.008"]}
    entry = judged({"qk_norm": ["model/attention=cosine", "~model.bias"]}, **arms)
    assert entry["settings"] == {"QK norm": ["model/attention=cosine", "~model.bias"]}


def test_values_that_differ_between_seeds_are_all_named_unless_they_are_tuned(judged):
    words = {"pre_ln": ["optimizer.lr=0.00{seed}"], "post_ln": ["optimizer.lr=0.001"]}
    assert "optimizer.lr=0.000 or 0.001 or 0.002" in judged(words)["evidence"]
    tune = {"key": "optimizer.lr", "values": [0.001], "seeds": [9]}
    tune |= {"metric": "val/nll", "better": "lower"}
    assert "settings" not in judged(words, tune=tune)
