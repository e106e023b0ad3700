"""scale=smoke: does everything run and connect? No verdict."""

import hydra
import pytest

from ablate.config.location import CONF
from ablate.config.scale import fitted
from ablate.config.settle import settle
from ablate.sweep.begin import regime

STUDY = ["+experiment=preln_vs_postln", "scale=smoke"]


@pytest.mark.parametrize(
    ("words", "more"),
    [
        ([*STUDY, "-m"], ["budget.seeds=2"]),
        ([*STUDY, "seed=0,1", "-m"], []),
        (["+experiment=preln_vs_postln", "-m"], []),
    ],
)
def test_the_seeds_are_those_of_the_scale_unless_they_are_given(words, more):
    assert fitted(words) == [*words, *more]


LANGUAGE = sorted(
    path.stem
    for path in (CONF / "experiment").glob("*.yaml")
    if "override /scale: language" in path.read_text(encoding="utf-8")
)


@pytest.mark.parametrize("experiment", LANGUAGE[:2])
def test_an_experiment_on_language_models_keeps_its_task_and_is_small(experiment):
    words = fitted([f"+experiment={experiment}", "scale=smoke"])
    with hydra.initialize_config_dir(str(CONF), version_base="1.3"):
        config = hydra.compose("config", words, return_hydra_config=True)
        settle(config)
    choices = config.hydra.runtime.choices
    assert choices.task == "language_model" and choices.model == "decoder_only"
    assert config.budget.steps == 20 and config.budget.seeds == 2
    assert config.budget.short in (None, 10) and config.budget.warmup < 20
    assert regime(config)["scale"] == "smoke"


def test_a_study_connects_and_has_no_verdict(command, here, small, tmp_path):
    words = [word for word in small if not word.startswith("scale=")]
    status, output, err = command("+experiment=heads_param_count", "scale=smoke", *words, "-m")
    assert status == 0
    assert err.startswith("heads_param_count: preparing the study\n")
    assert "it gives no verdict" in output
    assert not any(word in output for word in ("Supported", "Refuted", "Held fixed", "report:"))
    (sweep,) = (tmp_path / "results" / "sweeps" / "heads_param_count").iterdir()
    assert (sweep / "table.md").exists()
    assert not (sweep / "verdict.json").exists()
    cells = len(list((sweep / "cells").iterdir()))
    assert cells % 2 == 0  # two seeds, where the experiment has one
    status, output, err = command("judge", sweep)
    assert (status, output) == (2, "")
    assert "it gives no verdict" in err
