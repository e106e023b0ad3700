"""Every file of the config tree composes, and means what its place says."""

from itertools import groupby, zip_longest
from pathlib import Path

import pytest
import yaml
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.utils import get_object
from omegaconf import OmegaConf, open_dict

from ablate.config import CONF, option_file, option_folders
from ablate.config.check import check
from ablate.config.screen import expand, swept_values
from ablate.sweep.cell import plain_study
from ablate.verdict.conclude import check_study

from ..experiments import EXPERIMENTS, NAMES, QUICK, case

LEAVES = sorted(
    path.relative_to(folder)
    for folder in option_folders()
    for path in folder.rglob("*.yaml")
    if path.parent != CONF and path.parent.name != "experiment"
)
# Corpora and tokenizers that need something from the user.
NEEDS = {
    "data=parallel": ["data.train=x", "data.source=aa", "data.target=bb"],
    "data=huggingface": [
        *("data.path=json", "tokenizer=bpe"),
        "data.data_files={train: a.jsonl, test: [b.jsonl, c.jsonl]}",
    ],
    "data=huggingface_pairs": ["data.path=x", "data.source=aa", "data.target=bb"],
    "model=transformer": [f"+model.{key}=4" for key in ("n_layers", "d_model", "d_ff", "n_heads")],
    "initial=checkpoint": ["initial.folder=x"],
    "initial=vectors": ["initial.file=x"],
}


def together():
    """Lists of leaves that can be chosen at once: one of every group, but a model on its own."""
    by_folder = sorted(LEAVES, key=lambda leaf: leaf.parent)
    groups = {
        parent: list(leaves) for parent, leaves in groupby(by_folder, lambda leaf: leaf.parent)
    }
    models = groups.pop(Path("model"))
    del groups[Path("probe")]  # many, and each is composed by its test in tests/probe
    rows = zip_longest(*groups.values())
    return [*([model] for model in models), *([leaf for leaf in row if leaf] for row in rows)]


@pytest.mark.parametrize("leaves", together(), ids=lambda leaves: leaves[0].as_posix())
def test_every_leaf_composes(leaves, compose):
    choices = [f"{leaf.parent.as_posix()}={leaf.stem}" for leaf in leaves]
    needs = [word for choice in choices for word in NEEDS.get(choice, [])]
    config = compose(*choices, *needs)
    check(config)
    assert config.model.d_model > 0


def test_a_component_lives_where_its_config_lives():
    for leaf in LEAVES:
        node = OmegaConf.load(CONF / leaf) if leaf.parts[0] == "model" else {}
        if "_target_" in node:
            folder = ".".join(["ablate", *leaf.parent.parts])
            assert node._target_.startswith(f"{folder}."), leaf
            assert isinstance(get_object(node._target_), type), leaf


def _swept(params):
    """The levels that an experiment sweeps, by factor."""
    return {k: list(_levels(k, v)) for k, v in (params or {}).items() if k != "seed"}


def _levels(key, value):
    override = OverridesParser.create().parse_override(f"{key}={value}")
    if override.is_sweep_override():
        return override.sweep_string_iterator()
    return [override.get_value_element_as_str()]


@pytest.fixture(
    params=[case(x, x) for number, x in enumerate(NAMES) if number % 2 == 0 or x in QUICK]
)
def experiment(request, compose):
    """Name, config and swept levels of an experiment."""
    config = compose(f"+experiment={request.param}", hydra_node=True)
    expand(config)  # the study of a screen
    levels = _swept(swept_values(config))
    with open_dict(config):
        del config.hydra
    return request.param, config, levels


def test_every_experiment_names_itself_and_options_that_exist():
    """Read the files of all experiments; the tests below compose a part of them."""
    for name in NAMES:
        text = EXPERIMENTS[name].read_text(encoding="utf-8")
        config = yaml.load(text, yaml.CSafeLoader)
        assert config["name"] == name
        defaults = [item for item in config.get("defaults", ()) if isinstance(item, dict)]
        named = [(key, option) for default in defaults for key, option in default.items()]
        chosen = [(key.removeprefix("override /"), [option]) for key, option in named]
        params = config.get("hydra", {}).get("sweeper", {}).get("params", {})
        for key, options in (*chosen, *_swept(params).items()):
            group = key.partition("@")[0]
            missing = [o for o in options if _is_group(group) and not option_file(group, o)]
            assert not missing, (name, key, missing)


def _is_group(name):
    return any((folder / name).is_dir() for folder in option_folders())


def test_every_experiment_composes_and_speaks_of_what_it_sweeps(experiment):
    name, config, swept = experiment
    check(config)
    for key, values in swept.items():
        group = key.partition("@")[0]
        if _is_group(group):
            assert all(option_file(group, value) for value in values), key
        else:
            parent, _, leaf = key.rpartition(".")
            assert leaf in (OmegaConf.select(config, parent) if parent else config), key
    assert config.name == name
    assert set(config.study.factors) == set(swept) or config.study.design
    check_study(plain_study(config))
    for claim in config.study.claims:
        assert claim.statement.endswith(".")
        assert claim.source
