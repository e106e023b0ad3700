"""Every law that applies to a level, for all levels of the factors of the model, all losses and all
optimisers.
"""

import pytest
import torch

from ablate.config import option_folders
from ablate.testing import checks
from ablate.testing.model import SMALL, model_config

# levels that are refused where the factor has them act: where they can
PLACES = {
    f"model/attention={level}": (
        f"model/attention@model.encoder.attention={level}",
        f"model/attention@model.cross.attention={level}",
    )
    for level in ("linformer", "linformer_narrow")
}
FOLDERS = [f for f in option_folders() if [*f.glob("model/*/*.yaml"), *f.glob("loss/*.yaml")]]
CHECKS = [check for folder in FOLDERS for check in checks(folder, PLACES)]
LEVELS = {str(check.option): check.option for check in CHECKS}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.xdist_group(name)) for name in LEVELS]
)
def test_a_level_keeps_its_laws(name):
    for check in CHECKS:
        if check.option == LEVELS[name]:
            check()


@pytest.mark.parametrize(
    "words", [(), ("model/position=rotary",), PLACES["model/attention=linformer"]], ids=str
)
def test_a_model_that_is_composed_alone_is_that_of_a_run(words, compose):
    sizes = (f"model.{key}={value}" for key, value in SMALL.items())
    assert model_config(*words) == compose("model=micro", *words, *sizes).model


LOOKS_AHEAD = '''
"""A position that breaks a law."""

from ablate.model import Law
from ablate.model.position import Position


class Ahead(Position):
    def __init__(self, *, d_model):
        super().__init__()

    def embed(self, x, positions):
        return x + x.sum(1, keepdim=True)

'''


@pytest.fixture
def ahead(tmp_path, monkeypatch):
    """The checks of a level that looks ahead, by the names of their laws."""
    (tmp_path / "looks_ahead.py").write_text(LOOKS_AHEAD)
    monkeypatch.syspath_prepend(str(tmp_path))
    path = tmp_path / "model" / "position" / "ahead.yaml"
    path.parent.mkdir(parents=True)
    path.write_text("_target_: looks_ahead.Ahead\n_partial_: true\n")
    return {check.law.__name__: check for check in checks(tmp_path)}


def test_a_broken_law_is_named_with_what_broke_it(ahead):
    with pytest.raises(AssertionError, match="model/position=ahead"):
        ahead["no_future"]()
    with pytest.raises(AssertionError, match="Equation"):
        ahead["documented"]()


@pytest.mark.parametrize("size", ["base", "micro"])
def test_every_size_builds_on_the_meta_device(size):
    from ablate.model import build

    config = model_config(size=size, small=False)
    with torch.device("meta"):
        model = build(config, src_vocab=1000, tgt_vocab=1000, joint_vocab=True)
    assert {parameter.device.type for parameter in model.parameters()} == {"meta"}
    assert len(model.encoder.layers) == len(model.decoder.layers) == config.n_layers
