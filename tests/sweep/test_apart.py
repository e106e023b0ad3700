"""Two configurations are never pooled as one arm, whatever a sweep is over."""

import json
from itertools import count

import hydra
import pytest
from hydra._internal.callbacks import Callbacks
from hydra.core.global_hydra import GlobalHydra
from hydra.types import HydraContext, RunMode

from ablate.config import CONF
from ablate.errors import UserError
from ablate.evidence.checks import check_arms
from ablate.record.results import key, say, value_text
from ablate.sweep.compose import check_apart, compose

# what is swept, and a value of it per arm
SWEEPS = [
    ("model.dropout", "{rate:0.0}", "{rate:0.5}"),
    ("optimizer.betas", "[0.9,0.99]", "[0.9,0.999]"),
    ("optimizer.lr", "1", "1.0"),
    ("+model.position.kind", '"1"', "1"),
    ("model/norm@model.encoder.norm", "rms_norm", "layer_norm"),
]


@pytest.fixture
def cells():
    """Compose a sweep: every value, each with two seeds."""
    with hydra.initialize_config_dir(str(CONF), version_base="1.3"):
        hydra_instance = GlobalHydra.instance().hydra

        def go(swept, *values, words=()):
            config = hydra_instance.compose_config("config", [*words], run_mode=RunMode.MULTIRUN)
            context = HydraContext(
                config_loader=hydra_instance.config_loader, callbacks=Callbacks(config)
            )
            given = [f"{swept}={value}" for value in values]
            jobs = [(*words, word, f"seed={seed}") for word in given for seed in (1, 2)]
            return compose(context, config, jobs, count(), CONF / "nowhere")

        yield go


@pytest.mark.parametrize(("swept", "first", "second"), SWEEPS)
def test_each_value_is_an_arm_of_its_own(cells, swept, first, second):
    sweep = cells(swept, first, second)
    check_apart(sweep)
    arms = {key(cell.levels) for cell in sweep}
    assert len(arms) == len({say(cell.levels) for cell in sweep}) == 2
    assert [key(json.loads(json.dumps(cell.levels))) for cell in sweep] == [
        key(cell.levels) for cell in sweep
    ]


@pytest.mark.parametrize(
    ("swept", "first", "second"),
    [
        ("optimizer.lr", "0.1", "0.10"),
        ("model.dropout", "{rate:0.5}", "{rate: 5e-1}"),
        ("n_jobs", "1", "2"),
    ],
)
def test_one_configuration_twice_is_refused(cells, swept, first, second):
    with pytest.raises(UserError, match="cells 0 and 2"):
        check_apart(cells(swept, first, second))


def test_replicates_with_the_same_seeds_are_one_arm(cells):
    sweep = cells("replicate", "0", "1")
    assert check_apart(sweep) is None and len({key(cell.levels) for cell in sweep}) == 1


def test_a_study_refuses_levels_that_its_claims_cannot_tell_apart(cells):
    word = "+experiment=preln_vs_postln", "study.factors=[optimizer.lr]"
    for first, second in (("1", "1.0"), ("1", "true"), ("0.0", "-0.0")):
        with pytest.raises(UserError, match="optimizer.lr"):
            check_apart(cells("optimizer.lr", first, second, words=word))


def test_texts_of_unequal_values_differ():
    values = [None, "null", True, "true", 1, "1", 1.0, "1.0", [], "[]", {}, "{}", "", " ", "a,b"]
    values += [["a", "b"], ["a,b"], {"a": "b"}, {"a": ["b"]}, "inf", float("inf"), [1, [2]]]
    assert len({value_text(value) for value in values}) == len(values)


@pytest.mark.parametrize("levels", [({"a": 1}, {"a": 1.0}), ({"a": "1"}, {"a": 1}), ({}, {"a": 2})])
def test_evidence_that_calls_two_arms_alike_is_refused(levels):
    runs = [{"cell": n, "arm": "changed", "levels": options} for n, options in enumerate(levels)]
    assert check_arms("here", runs[:1]) is None
    with pytest.raises(UserError, match="changed"):
        check_arms("here", runs)
