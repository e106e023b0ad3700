"""Arms of an experiment share what they can: initial values and batches."""

import hydra
import pytest
import torch
from hydra.core.override_parser.overrides_parser import OverridesParser

from ablate.config.schema import CONF
from ablate.train.run import make_model, prepare_data

# Probes train nothing, and the arms of aa_null differ in their random numbers alone.
EXPERIMENTS = sorted(
    path.stem
    for path in (CONF / "experiment").glob("*.yaml")
    if "override /probe:" not in path.read_text() and path.stem != "aa_null"
)
# one corpus whose sizes are others than those of `small`
OTHER_SIZES = {"causal_mask_random": ("data.n_test_long=",)}


@pytest.fixture
def built(small, compose):
    """Model and batches of every arm of an experiment."""

    def arms(name):
        with hydra.initialize_config_dir(str(CONF), version_base="1.3"):
            whole = hydra.compose("config", [f"+experiment={name}"], return_hydra_config=True)
            loader = hydra.core.global_hydra.GlobalHydra.instance().config_loader()
            parser = OverridesParser.create(config_loader=loader)
            params = dict(whole.hydra.sweeper.params)
            levels = {
                key: list(parser.parse_override(f"{key}={value}").sweep_string_iterator())
                for key, value in params.items()
                if key != "seed"
            }
        for key, values in levels.items():
            for value in values:
                own = [word for word in small if not word.startswith(OTHER_SIZES.get(name, ()))]
                config = compose(*own, f"+experiment={name}", f"{key}={value}")
                data = prepare_data(config)
                yield f"{key}={value}", make_model(config, data), data

    return arms


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_shared_parameters_begin_with_equal_values(built, name):
    (_, first, _), *others = built(name)
    first = dict(first.named_parameters())
    for arm, other, _ in others:
        shared = {
            key: value
            for key, value in other.named_parameters()
            if key in first and first[key].shape == value.shape
        }
        assert len(shared) > len(first) / 3, arm
        assert all(torch.equal(first[key], value) for key, value in shared.items()), arm


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_all_arms_see_the_same_batches(built, name):
    seen = []
    for _, _, data in built(name):
        batches = list(data.train_dataloader())
        assert len(batches) > 3
        seen.append([(batch.inputs.src, batch.targets) for batch in batches])
    for other in seen[1:]:
        for (src, tgt), (other_src, other_tgt) in zip(seen[0], other, strict=True):
            assert torch.equal(src, other_src)
            assert torch.equal(tgt, other_tgt)
