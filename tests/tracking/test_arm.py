"""Which arm a run belongs to."""

import pytest
from hydra.core.hydra_config import HydraConfig
from hydra.core.singleton import Singleton
from hydra.types import RunMode
from omegaconf import OmegaConf, open_dict

from ablate.record.results import levels, say
from ablate.train.tracking import run_title


@pytest.fixture
def composed(compose):
    """Compose as a job of a sweep, or as a single run; HydraConfig is as in that job."""
    before = Singleton.get_state()

    def go(*overrides, mode="MULTIRUN"):
        config = compose(*overrides, hydra_node=True)
        with open_dict(config):
            config.hydra.mode = RunMode[mode]
        HydraConfig.instance().set_config(config)
        OmegaConf.set_readonly(config, False)
        with open_dict(config):
            del config["hydra"]
        return config

    yield go
    Singleton.set_state(before)


@pytest.mark.parametrize(
    ("words", "expected", "name"),
    [
        (
            "+experiment=preln_vs_postln model/residual=pre_ln schedule=no_warmup seed=3",
            {"model/residual": "pre_ln", "schedule": "no_warmup"},
            "pre_ln no_warmup",
        ),
        (
            "model/position=learned model.n_heads=2 seed=4 n_jobs=2 logger.mode=offline",
            {"model/position": "learned", "model.n_heads": 2},
            "learned n_heads=2",
        ),
    ],
)
def test_an_arm_is_told_by_its_factors_or_its_overrides(composed, words, expected, name):
    config = composed(*words.split())
    assert (levels(config), say(levels(config))) == (expected, name)


@pytest.mark.parametrize(
    ("words", "mode", "name"),
    [
        (
            ["model/position=learned", "optimizer.lr=0.005"],
            "RUN",
            "learned positions, learning rate 0.005, seed 1",
        ),
        (["seed=2", "replicate=1", "name=mine"], "RUN", "mine, seed 2 of set 1"),
        (
            ["+experiment=preln_vs_postln", "optimizer.lr=0.01", "threads=1"],
            "MULTIRUN",
            "Post-LN, warm-up, learning rate 0.01, seed 1",
        ),
    ],
)
def test_the_name_of_a_run_tells_it_from_others(composed, words, mode, name):
    config = composed(*words, mode=mode)
    assert run_title(config) == name
    assert mode == "RUN" or run_title(config, "given") == f"given, {name}"
