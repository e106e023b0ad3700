"""Configs that share work are those that Hydra composes alone."""

from itertools import count
from pathlib import Path

import pytest
from omegaconf import OmegaConf, open_dict

from ablate.config.settle import settle
from ablate.evidence.registration import screening_seeds
from ablate.sweep.adjust import screening_jobs
from ablate.sweep.cell import plain_study
from ablate.sweep.compose import compose
from ablate.sweep.runs import compose_sweep

VARIANTS = "variant=baseline,swiglu,fewer_steps"


def alone(sweep, cell):
    """The config that Hydra composes for a cell, without the help of other cells."""
    config = sweep.context.config_loader.load_sweep_config(sweep.config, [*cell.overrides])
    settle(config)
    with open_dict(config):
        config.hydra.sweep.dir = cell.arm.hydra.sweep.dir
        config.hydra.job.id, config.hydra.job.num = str(cell.number), cell.number
    return config


@pytest.fixture(scope="module")
def screen():
    """A sweep of a screen with its cells: those for the verdict, and those that tune."""
    hydras = ["hydra.job.name=named", "hydra.job.config.override_dirname.exclude_keys=[seed]"]
    words = ["+experiment=modern_screen", "logger=none", VARIANTS, "seed=0,1", *hydras]
    with compose_sweep(words) as sweep:
        folder, tune = Path("sweep"), plain_study(sweep.config)["tune"]
        cells = compose(sweep.context, sweep.config, sweep.jobs, count(), folder)
        jobs = screening_jobs(cells, tune, screening_seeds({0, 1}, tune))
        tuning = compose(*sweep[:2], jobs, count(len(cells)), folder, tune["key"])
        yield sweep, cells, tuning


@pytest.mark.slow
def test_a_config_that_shares_work_is_the_config_that_hydra_composes(screen):
    sweep, cells, tuning = screen
    for cell in [cells[0], cells[-1], tuning[-1]]:
        expected = alone(sweep, cell)
        for resolve in (False, True):
            trees = [
                OmegaConf.to_container(
                    OmegaConf.masked_copy(config, [k for k in config if k != "hydra"]),
                    resolve=resolve,
                )
                for config in (cell.config, expected)
            ]
            assert trees[0] == trees[1]
        nodes = [OmegaConf.to_container(c.hydra, resolve=False) for c in (cell.config, expected)]
        assert nodes[0] == nodes[1]
        kinds = [[*map(OmegaConf.get_type, c.study.claims)] for c in (cell.config, expected)]
        assert kinds[0] == kinds[1]
