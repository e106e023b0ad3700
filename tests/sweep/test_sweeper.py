"""The jobs of a sweep, from its overrides and from the parameters of an experiment."""

from types import SimpleNamespace

import pytest
from hydra.core.plugins import Plugins
from hydra.plugins.sweeper import Sweeper
from omegaconf import OmegaConf

SCREEN = {"study": {"screen": {"variants": {"rms": {"model/norm": "rms_norm"}}}}}


def jobs_of(*words, params=None, config=None):
    # an earlier import of the class has an outdated base, because Hydra imports its plugins anew
    kinds = {kind.__name__: kind for kind in Plugins.instance().discover(Sweeper)}
    sweeper = kinds["AblateSweeper"](max_batch_size=None)
    sweeper.config = OmegaConf.create({"hydra": {"sweeper": {"params": params}}, **(config or {})})
    sweeper.hydra_context = SimpleNamespace(config_loader=None)
    return sweeper.jobs(words)


@pytest.mark.parametrize("key", ["seed", "model.d_ff"])
def test_values_with_two_pluses_replace_the_values_of_the_experiment(key):
    assert jobs_of(f"++{key}=7,8", params={key: "range(3)"}) == [[f"{key}=7"], [f"{key}=8"]]


@pytest.mark.parametrize("word", ["variant=rms", "variant='rms'", "++variant=rms"])
def test_a_variant_brings_its_overrides_however_it_is_written(word):
    (job,) = jobs_of(word, params={"variant": "baseline,rms", "seed": 0}, config=SCREEN)
    assert sorted(job) == ["model/norm=rms_norm", "seed=0", word.lstrip("+")]


@pytest.mark.parametrize(
    ("seeds", "further"), [("range(3)", ["seed=3", "seed=4"]), ("5,6,7", ["seed=8", "seed=9"])]
)
def test_the_baseline_has_further_seeds_unless_the_command_runs_a_part(seeds, further):
    config = {"study": {"seeds": 3, "baseline_seeds": 5, **SCREEN["study"]}}
    params = {"variant": "baseline,rms", "seed": seeds}
    jobs = jobs_of(params=params, config=config)
    assert len(jobs) == 8
    assert jobs[6:] == [["variant=baseline", seed] for seed in further]
    assert len(jobs_of("seed=0,1", params=params, config=config)) == 4
    assert len(jobs_of("variant=rms", params=params, config=config)) == 3


def test_all_workers_shuffle_alike():
    word = "seed=shuffle(range(20))"
    jobs = jobs_of(word)
    assert jobs == jobs_of(word)
    assert jobs != sorted(jobs, key=lambda job: int(job[0].removeprefix("seed=")))
