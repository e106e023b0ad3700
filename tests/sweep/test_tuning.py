"""A nuisance is chosen for every arm on validation."""

import pytest
from omegaconf import OmegaConf

from ablate.errors import UserError
from ablate.sweep.cell import Cell
from ablate.sweep.tuning import choose, screening_jobs, tuned_jobs

TUNE = {"key": "lr", "values": [1, 2], "seeds": [8, 9], "metric": "val/nll", "better": "lower"}


def cell(arm, seed):
    overrides = [f"arm={arm}", f"seed={seed}"]
    node = {"runtime": {"choices": {}}, "overrides": {"task": overrides}}
    config = OmegaConf.create({"seed": seed, "study": None, "hydra": node})
    return Cell(0, arm, tuple(overrides), config)


def link(arm, value, nll, status="finished"):
    return {
        "levels": {"arm": arm},
        "tuned": {"key": "lr", "value": value},
        "metrics": {"val/nll": nll, "unigram_nll": 5.0},
        "status": status,
    }


def test_every_arm_is_screened_once_with_every_value_and_seed():
    jobs = screening_jobs([cell(arm, seed) for arm in "ab" for seed in (1, 2, 3)], TUNE)
    assert len(jobs) == 8
    assert jobs[0] == ("arm=a", "lr=1", "seed=8", "test_splits=[]")


def test_a_seed_of_the_verdict_may_not_choose():
    with pytest.raises(UserError, match="seed 8 is one of the verdict"):
        screening_jobs([cell("a", 8)], TUNE)


def test_the_best_mean_is_chosen_for_each_arm():
    links = [link("a", 1, 3.0), link("a", 1, 1.0), link("a", 2, 1.9), link("a", 2, 1.9)]
    links += [link("b", 1, 1.0), link("b", 2, 2.0)]
    jobs = tuned_jobs([cell("a", 1), cell("b", 1)], links, TUNE)
    assert jobs == [("arm=a", "seed=1", "lr=2"), ("arm=b", "seed=1", "lr=1")]


def test_a_diverged_run_counts_against_its_value():
    links = [link("a", 1, 0.1, "diverged"), link("a", 2, 4.0)]
    assert choose(links, TUNE, {"arm": "a"}) == 2
    assert choose(links, {**TUNE, "better": "higher"}, {"arm": "a"}) == 1


def test_an_arm_without_any_result_ends_the_sweep():
    failed = {**link("a", 1, 1.0, "failed"), "error": "no space"}
    with pytest.raises(UserError, match="every run of .*failed.*no space"):
        choose([failed], TUNE, {"arm": "a"})
