"""The advice that a sweep prints at its end."""

import pytest
from omegaconf import OmegaConf

from ablate.sweep.end import more_seeds


@pytest.fixture
def advice():
    def of(exploratory, *claims, baseline_seeds=None):
        task = ["+experiment=mine", "seed=0,1", "optimizer.lr=0.1"]
        hydra = {"overrides": {"task": task}, "runtime": {"config_sources": []}}
        study = {"exploratory": exploratory, "seeds": 2, "baseline_seeds": baseline_seeds}
        config = OmegaConf.create({"study": study, "replicate": 2, "hydra": hydra})
        keys = ("verdict", "pairs", "seeds_needed")
        return more_seeds(config, {"claims": [dict(zip(keys, c, strict=True)) for c in claims]})

    return of


PLAN = {"supported": {"seeds": 6, "effect": 1.0}, "refuted": {"seeds": 9, "effect": 0.0}}


def test_more_seeds_are_fresh_ones_so_that_their_verdict_is_not_exploratory(advice):
    command = advice(False, ("inconclusive", 2, PLAN), ("supported", 2, None))
    assert "+experiment=mine optimizer.lr=0.1 'seed=range(6)' budget.seeds=6" in command
    assert "replicate=3 contest=true -m" in command and "seed=0,1" not in command
    command = advice(False, ("inconclusive", 2, PLAN), baseline_seeds=5)
    assert "budget.seeds=6 replicate=3 contest=true study.baseline_seeds=15 -m" in command
