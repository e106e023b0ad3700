"""What the book keeps of a sweep: its seeds, and the settings that are no factor."""

from itertools import count

import pytest
from omegaconf import OmegaConf

from ablate.sweep.begin import describe
from ablate.sweep.cell import plain_study
from ablate.sweep.compose import PlannedSweep
from ablate.sweep.compose import compose as compose_cells
from ablate.sweep.runs import compose_sweep, planned_seeds


@pytest.fixture
def begun(tmp_path):
    def begin(*overrides, experiment="preln_vs_postln"):
        folder = tmp_path / "sweeps" / "one"
        words = ["logger=none", f"paths.results={tmp_path}", f"hydra.sweep.dir={folder}"]
        with compose_sweep([f"+experiment={experiment}", *words, *overrides]) as sweep:
            cells = compose_cells(*sweep, count(), folder)
            study = plain_study(sweep.config)
            planned = PlannedSweep(sweep.context, sweep.config, study, cells, cells, [], {})
            return describe(planned, {"data": "toy", "threads": 2})[0]

    return begin


@pytest.mark.parametrize(
    ("planned", "seeds"),
    [("0,4,2", [0, 4, 2]), ("range(2)", [0, 1]), ("'1','2'", [1, 2]), (7, [7]), (None, [])],
)
def test_the_planned_seeds_are_those_of_the_experiment(planned, seeds):
    assert (
        planned_seeds(OmegaConf.create({"hydra": {"sweeper": {"params": {"seed": planned}}}}))
        == seeds
    )
    assert planned_seeds(OmegaConf.create({"hydra": {"sweeper": {"params": None}}})) == []


def test_settings_are_what_no_factor_and_no_seed_says(begun):
    sweep = begun("replicate=3")
    assert (sweep.replicate, sweep.folder, sweep.regime) == (3, "sweeps/one", {"data": "toy"})
    assert sweep.settings["budget.steps"] == 600
    assert not {"seed", "replicate", "name", "optimizer.lr", "data.root"} & sweep.settings.keys()
    assert not any(
        key.startswith(("schedule", "model.residual", "paths")) for key in sweep.settings
    )
    assert not any("/" in str(value) for value in sweep.settings.values() if "${" not in str(value))
    assert len(sweep.questions) == 4  # two contrasts, by names and by settings
    assert sweep.free == ["model.residual", "schedule", "optimizer.lr"]
    assert len(sweep.code) == 16


def test_a_level_is_kept_with_what_it_sets(begun):
    alone = begun("model/residual=pre_ln", "schedule=constant,noam").levels
    assert alone["model/residual=pre_ln"] == {
        "model.residual._target_": "PreLN",
        "model.residual._partial_": True,
    }
    assert alone.keys() == {"model/residual=pre_ln", "schedule=constant", "schedule=noam"}
    assert {"model/residual=pre_ln", "model/residual=post_ln"} <= begun("n_jobs=1").levels.keys()


def test_a_key_that_a_variant_adds_is_a_setting_of_its_level(begun):
    variant = "+study.screen.variants.clipped={+trainer.gradient_clip_algorithm:value}"
    words = ("variant=baseline,clipped", "seed=0")
    levels = begun(variant, *words, experiment="modern_second_corpus").levels
    assert levels["variant=clipped"] == {"trainer.gradient_clip_algorithm": "value"}
    assert levels["variant=baseline"] == {}
    assert levels["variant=swiglu"]  # a part has the registration of the whole screen
