"""Models from overrides, as the command line would build them."""

import pytest
import torch

from ablate.model.layers import choose_products, has_onednn


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


@pytest.fixture
def onednn():
    """Multiply by oneDNN during a test."""
    if not has_onednn():
        pytest.skip("this torch has no oneDNN")
    choose_products("onednn")
    yield
    choose_products("blas")


@pytest.fixture
def build_model():
    """Build a small model from overrides."""
    from ablate.initial import initialise
    from ablate.model import build
    from ablate.testing.model import model_config

    small = ("model.d_model=16", "model.d_ff=24", "model.n_heads=2")

    def built(*overrides, joint_vocab=True, size="micro"):
        config = model_config(*small, *overrides, size=size, small=False)
        model = build(config, src_vocab=20, tgt_vocab=20, joint_vocab=joint_vocab)
        initialise(model, 1)
        return model

    return built


@pytest.fixture
def batch():
    """Token ids of three padded pairs: src "3 6", tgt_in "3 5"."""
    from ablate.model import Seq2Seq

    src, tgt_in = torch.randint(4, 20, (3, 6)), torch.randint(4, 20, (3, 5))
    src[1, 4:] = 0
    src[2, 1:] = 0
    tgt_in[0, 3:] = 0
    return Seq2Seq(src, tgt_in)
