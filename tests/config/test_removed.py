"""A key that the command removes is not replaced by a library's default without a word."""

import hydra
import pytest

from ablate.config.location import CONF
from ablate.config.settle import settle
from ablate.errors import UserError

SGD = "_target_: torch.optim.SGD\n_partial_: true\nlr: 0.1\n"


@pytest.fixture
def settled(tmp_path):
    """Settle the config of a command that may choose plain gradient descent, sgd."""
    (tmp_path / "optimizer").mkdir()
    (tmp_path / "optimizer/sgd.yaml").write_text(SGD)

    def go(*words):
        path = f"hydra.searchpath=[file://{tmp_path}]"
        with hydra.initialize_config_dir(str(CONF), version_base="1.3"):
            config = hydra.compose("config", [path, *words], return_hydra_config=True)
            settle(config)
        return config

    return go


@pytest.mark.parametrize(
    "words",
    [
        ("~trainer.devices",),
        ("~optimizer.betas=[0.9,0.98]",),
        ("~logger.csv.name", "logger=csv"),
    ],
    ids=str,
)
def test_a_removed_key_that_has_a_default_is_refused(settled, words):
    key = words[0].lstrip("~").partition("=")[0]
    with pytest.raises(UserError, match=f"^{key} has no value.*leave out ~{key}$"):
        settled(*words)


def test_a_key_that_nothing_reads_can_be_removed(settled):
    config = settled("scale=language", "optimizer=sgd", "~optimizer.betas")
    assert "betas" not in config.optimizer
    assert "timer" not in settled("callbacks=[timer,lr_monitor]", "~callbacks.timer").callbacks
