"""Arms of an experiment share what they can: initial values and batches."""

import re

import hydra
import pytest
import torch
import yaml
from hydra.core.override_parser.overrides_parser import OverridesParser

from ablate.config import CONF
from ablate.train.job import make_model, prepare_data
from ablate.train.resolve import resolve

from ..experiments import EXPERIMENTS

# Probes train nothing; arms of other corpora, batches, beginnings or architectures share less; and
# those of aa_null differ in their random numbers alone.
OTHERS = re.compile(r"override /((probe|data|model|tokenizer):|scale: language)")
OTHERWISE = ("data", "tokenizer", "batch", "initial", "adapt", "model.d_model")


def experiments():
    """Yield those whose arms share what they can.

    That the options of a model share their initial values is a law, which tests/laws check for all.
    """
    for path in EXPERIMENTS.values():
        text = path.read_text(encoding="utf-8")
        if OTHERS.search(text) or path.stem == "aa_null":
            continue
        hydra_node = yaml.load(text, yaml.CSafeLoader).get("hydra", {})  # OmegaConf takes seconds
        keys = {*(hydra_node.get("sweeper", {}).get("params") or {})}
        if not any(key == "model" or key.startswith(OTHERWISE) for key in keys):
            yield path.stem


# every twelfth; the first is a fast test
CASES = [
    pytest.param(name, marks=[pytest.mark.slow] * (number > 0))
    for number, name in enumerate(experiments())
    if number % 12 == 0
]


@pytest.fixture
def built(small, compose):
    """Model and batches of every arm of an experiment."""

    def arms(name):
        for arm in [*swept(name)]:  # composing opens Hydra anew
            job = resolve(compose(*small, f"+experiment={name}", arm, "budget.short=null"))
            data = prepare_data(job)
            yield arm, make_model(job, data), data

    return arms


def swept(name):
    """An override for every level of every factor of an experiment."""
    with hydra.initialize_config_dir(str(CONF), version_base="1.3"):
        whole = hydra.compose("config", [f"+experiment={name}"], return_hydra_config=True)
        loader = hydra.core.global_hydra.GlobalHydra.instance().config_loader()
        parser = OverridesParser.create(config_loader=loader)
        for key, values in whole.hydra.sweeper.params.items():
            if key != "seed":
                override = parser.parse_override(f"{key}={values}")
                alone = not override.is_sweep_override()
                levels = [values] if alone else override.sweep_string_iterator()
                yield from [f"{key}={level}" for level in levels]


def batches(data):
    return [(batch.inputs.src, batch.targets) for batch in data.train_dataloader()]


@pytest.mark.parametrize("name", CASES)
def test_arms_begin_with_equal_values_and_see_the_same_batches(built, name):
    (_, first, data), *later_arms = built(name)
    first, seen = dict(first.named_parameters()), batches(data)
    assert len(seen) > 3
    for arm, other, data in later_arms:
        shared = {
            key: value
            for key, value in other.named_parameters()
            if key in first and first[key].shape == value.shape
        }
        assert len(shared) > len(first) / 3, arm
        assert all(torch.equal(first[key], value) for key, value in shared.items()), arm
        for mine, theirs in zip(seen, batches(data), strict=True):
            assert all(map(torch.equal, mine, theirs)), arm
