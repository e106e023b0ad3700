"""Keys that only the scale sets are dropped where the chosen component lacks them."""

import hydra
import pytest

from ablate.config import CONF
from ablate.config.settle import settle
from ablate.errors import say_once

SGD = "_target_: torch.optim.SGD\n_partial_: true\nlr: 0.1\n"
SCREEN = """# @package _global_
defaults: [override /scale: language{more}]
optimizer: {{{keys}}}
study:
  screen:
    {{metric: test/bpb, margin: 0.1, margin_reason: none, variants: {{sgd: {{optimizer: sgd}}}}}}
"""


@pytest.fixture
def settled(tmp_path, capsys):
    """Settle the config of a command that may choose the option sgd and the experiment mine."""
    say_once.cache_clear()
    for group in ("optimizer", "scale", "experiment"):
        (tmp_path / group).mkdir()
    (tmp_path / "optimizer/sgd.yaml").write_text(SGD)
    (tmp_path / "scale/own.yaml").write_text("# @package _global_\ndefaults: [nanogpt]\n")

    def go(*words, experiment=""):
        (tmp_path / "experiment/mine.yaml").write_text(experiment)
        path = f"hydra.searchpath=[file://{tmp_path}]"
        with hydra.initialize_config_dir(str(CONF), version_base="1.3"):
            config = hydra.compose("config", [path, *words], return_hydra_config=True)
            settle(config)
        return {*config.optimizer}, capsys.readouterr().out

    return go


KEPT = {"_target_", "_partial_", "lr", "weight_decay"}  # SGD has a weight decay


@pytest.mark.parametrize(
    ("words", "dropped"),
    [
        (("scale=language", "optimizer=sgd"), ("betas",)),
        (("scale=own", "optimizer=sgd"), ("betas", "eps")),
        (("+experiment=mine", "optimizer=sgd"), ("betas",)),
        (("+experiment=mine", "variant=sgd", "optimizer=sgd", "optimizer.lr=1"), ("betas",)),
    ],
)
def test_keys_that_only_the_scale_sets_are_dropped_and_printed(settled, words, dropped):
    keys, printed = settled(*words, experiment=SCREEN.format(more="", keys="lr: 0.2"))
    assert keys == KEPT
    assert all(f"optimizer.{key}" in printed for key in dropped)
    assert "weight_decay" not in printed.replace("does not set", "")


@pytest.mark.parametrize(
    ("words", "experiment"),
    [
        (("scale=language", "optimizer=sgd", "+optimizer.betas=[0,1]"), ""),
        (("+experiment=mine", "optimizer=sgd"), SCREEN.format(more="", keys="betas: [0, 1]")),
        (("+experiment=mine",), SCREEN.format(more=", override /optimizer: sgd", keys="betas: []")),
    ],
)
def test_keys_of_the_command_and_of_an_experiment_stay(settled, words, experiment):
    assert "betas" in settled(*words, experiment=experiment)[0]
