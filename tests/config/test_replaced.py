"""A user learns which values of a chosen option the scale or the experiment has replaced."""

import hydra
import pytest

from ablate.config.location import CONF
from ablate.config.settle import settle
from ablate.process import say_once


@pytest.fixture
def announced(capsys):
    """Return what is printed about the overrides of a command."""

    def go(*overrides):
        say_once.cache_clear()
        with hydra.initialize_config_dir(str(CONF), version_base="1.3"):
            config = hydra.compose("config", [*overrides], return_hydra_config=True)
            settle(config)
            settle(config)  # a sweep does so several times; the precision is decided by then
        return capsys.readouterr().out

    return go


@pytest.mark.parametrize(
    ("overrides", "named"),
    [
        (
            ("scale=language", "model=big"),
            [
                "model=big does not set ",
                "model.d_model (128 instead of 1024)",
                "come from scale=language",
            ],
        ),
    ],
)
def test_values_that_the_scale_has_replaced_are_named(announced, overrides, named):
    message = announced(*overrides)
    assert all(part in message for part in named)
    assert message.count("\n") == 1
