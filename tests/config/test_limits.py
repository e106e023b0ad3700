"""A value out of its limits is refused with its key and what is allowed."""

import pytest
from omegaconf import OmegaConf

from ablate.config.check import check
from ablate.errors import UserError


@pytest.fixture(scope="module")
def default():
    """The default config with W&B, composed once."""
    import hydra

    from ablate.config.location import CONF

    with hydra.initialize_config_dir(str(CONF), version_base="1.3"):
        return hydra.compose("config")


@pytest.mark.parametrize(
    ("key", "value", "allowed"),
    [
        ("optimizer.lr", float("nan"), "at least 0"),
        ("paths.results", "~/runs", "~/runs: use /"),
        ("optimizer.betas", [0.9, float("nan")], "a finite number"),
        ("optimizer.betas", [], "have 2 items"),
        ("seed", -1, "at least 0 and at most 9223372036854775807"),
        ("trainer.devices", 0, "at least 1"),
        ("logger.mode", "banana", "auto or online or offline"),
        ("trainer.max_time", "00:00:00:00", "longer than no time"),
        ("trainer.max_time", 3, "valid"),
        ("data.n_train", 10**12, "at most 10000000"),
    ],
)
def test_a_value_out_of_its_limits(default, key, value, allowed):
    config = default.copy()
    OmegaConf.update(config, key, value, force_add=True)
    with pytest.raises(UserError) as error:
        check(config)
    assert str(error.value).startswith(key)
    assert str(value) in str(error.value) or isinstance(value, list)
    assert allowed in str(error.value)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("optimizer.lr", 0),
        ("seed", 2**63 - 1),
        ("trainer.devices", "auto"),
        ("trainer.max_time", {"hours": 0, "seconds": 9}),
    ],
)
def test_a_value_at_its_limit_is_accepted(default, key, value):
    config = default.copy()
    OmegaConf.update(config, key, value, force_add=True)
    assert check(config) is None


def test_only_the_runs_that_tune_a_nuisance_may_test_nothing(compose):
    assert check(compose("+experiment=preln_vs_postln", "test_splits=[]")) is None
    with pytest.raises(UserError, match="test_splits=\\[\\]: it must not be empty"):
        check(compose("+experiment=preln_vs_postln", "test_splits=[]", "study.tune=null"))
