"""Every variant that a YAML in conf/model or conf/loss describes, built small."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

CONF = Path(__file__).resolve().parents[2] / "conf"
SIZES = ["base", "big", "micro", "small", "tiny"]
VARIANTS = sorted((path.parent.name, path.stem) for path in CONF.glob("model/*/*.yaml"))
LOSSES = sorted(path.stem for path in CONF.glob("loss/*.yaml"))
SMALL = {"d_model": 16, "d_ff": 24, "n_heads": 2}
VOCAB = 20
# levels that are refused where the factor has them act: where they can
PLACES = {
    f"attention={level}": (
        f"attention@model.encoder.attention={level}",
        f"attention@model.cross.attention={level}",
    )
    for level in ("linformer", "linformer_narrow")
}


def model_config(size="micro", small=True, **levels):
    """Return the node `model` with the base levels but for those given."""
    import hydra

    from ablate.config.schema import CONF

    choices = [f"{factor}={level}" for factor, level in levels.items()]
    chosen = [f"model/{place}" for choice in choices for place in PLACES.get(choice, (choice,))]
    sizes = [f"model.{key}={value}" for key, value in SMALL.items()] if small else []
    with hydra.initialize_config_dir(str(CONF), version_base="1.3"):
        return hydra.compose("config", [f"model={size}", *chosen, *sizes]).model


def build_model(**options):
    """Return the model of a config, its initial values drawn."""
    return built(model_config(**options))


def built(config):
    """Return the model of a node `model`, its initial values drawn."""
    from ablate.initial.seeded import initialise
    from ablate.model.build import build

    model = build(config, src_vocab=VOCAB, tgt_vocab=VOCAB, joint_vocab=True)
    initialise(model, 1)
    return model


@dataclass
class Variant:
    """One level of one factor, all else as in the base."""

    factor: str
    level: str
    target: str
    model: Any
    breaks: frozenset

    def logits(self, src, tgt_in):
        from ablate.model.base import Seq2Seq

        return self.model.head(self.model(Seq2Seq(src, tgt_in)))

    def keeps(self, law):
        return law not in self.breaks


# the tests of a variant go to one worker, which composes and builds it once
@pytest.fixture(
    scope="session",
    params=[
        pytest.param(pair, marks=pytest.mark.xdist_group("/".join(pair)), id="/".join(pair))
        for pair in VARIANTS
    ],
)
def variant(request):
    """Each variant in turn."""
    from hydra.utils import get_class
    from omegaconf import OmegaConf

    factor, level = request.param
    target = OmegaConf.load(CONF / f"model/{factor}/{level}.yaml")["_target_"]
    model = build_model(**{factor: level})
    return Variant(factor, level, target, model.eval(), get_class(target).breaks)


@pytest.fixture(params=sorted(level for factor, level in VARIANTS if factor == "padding"))
def padding(request):
    """Each level of padding in turn."""
    return request.param


@pytest.fixture
def filled():
    """Build the base with a padding and a fill of masked scores."""

    def build(padding, fill):
        config = model_config(padding=padding, attention="explicit")
        config.attention.fill = fill
        return built(config).eval()

    return build


@pytest.fixture(scope="session")
def base():
    """The model that variants differ from in one thing."""
    return build_model()


@pytest.fixture(params=SIZES)
def size_config(request):
    """The config of each size in turn, as large as it is."""
    return model_config(size=request.param, small=False)


@pytest.fixture(params=LOSSES)
def loss_config(request):
    """The config of each loss in turn."""
    from omegaconf import OmegaConf

    return OmegaConf.load(CONF / f"loss/{request.param}.yaml")


@pytest.fixture
def batch():
    """Token ids of four padded pairs: src "4 6", tgt_in "4 18", longer than a block of caches."""
    import torch

    from ablate.model.base import Seq2Seq

    generator = torch.Generator().manual_seed(0)
    src = torch.randint(4, VOCAB, (4, 6), generator=generator)
    tgt_in = torch.randint(4, VOCAB, (4, 18), generator=generator)
    for row, (n_src, n_tgt) in enumerate([(6, 18), (4, 11), (2, 18), (5, 1)]):
        src[row, n_src:] = 0
        tgt_in[row, n_tgt:] = 0
    return Seq2Seq(src, tgt_in)
