"""Every variant that a YAML in conf/model or conf/loss describes, built small."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

CONF = Path(__file__).resolve().parents[2] / "conf"
SIZES = sorted(path.stem for path in CONF.glob("model/*.yaml"))
VARIANTS = sorted((path.parent.name, path.stem) for path in CONF.glob("model/*/*.yaml"))
LOSSES = sorted(path.stem for path in CONF.glob("loss/*.yaml"))
BASE = {
    "position": "sinusoidal",
    "residual": "post_ln",
    "norm": "layer_norm",
    "attention": "fused",
    "padding": "columns",
    "feed_forward": "relu",
    "embedding": "tied_all",
}
SMALL = {"d_model": 16, "d_ff": 24, "n_heads": 2}
VOCAB = 20


def model_config(size="micro", small=True, **levels):
    """Return the node `model` with the base levels but for those given."""
    from omegaconf import OmegaConf

    from ablate.schema import Model

    parts: list[Any] = [OmegaConf.structured(Model), OmegaConf.load(CONF / f"model/{size}.yaml")]
    for factor, level in (BASE | levels).items():
        parts.append({factor: OmegaConf.load(CONF / f"model/{factor}/{level}.yaml")})
    return OmegaConf.merge(*parts, SMALL if small else {})


def build_model(**options):
    """Return the model of a config, its initial values drawn."""
    return built(model_config(**options))


def built(config):
    """Return the model of a node `model`, its initial values drawn."""
    from ablate.model.build import build
    from ablate.initial.seeded import initialise

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

    def keeps(self, law):
        return law not in self.breaks


@pytest.fixture(scope="session", params=VARIANTS, ids="/".join)
def variant(request):
    """Each variant in turn."""
    from hydra.utils import get_class

    factor, level = request.param
    target = model_config(**{factor: level})[factor]["_target_"]
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

    generator = torch.Generator().manual_seed(0)
    src = torch.randint(4, VOCAB, (4, 6), generator=generator)
    tgt_in = torch.randint(4, VOCAB, (4, 18), generator=generator)
    for row, (n_src, n_tgt) in enumerate([(6, 18), (4, 11), (2, 18), (5, 1)]):
        src[row, n_src:] = 0
        tgt_in[row, n_tgt:] = 0
    return src, tgt_in
