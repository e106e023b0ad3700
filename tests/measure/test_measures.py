"""What measures find in models that were made so, and what a run keeps of them."""

import pytest
import torch
from hydra.utils import instantiate

from ablate.model.attention.multi_head import SelfAttention
from ablate.train.job import make_model, prepare_data
from ablate.train.module import Training
from ablate.train.resolve import resolve
from ablate.train.run import run
from experiments.shared.measure.gold import sentences
from experiments.shared.measure.layers import Layers, without_last_layer
from experiments.shared.measure.pruning import nll
from experiments.shared.measure.words import read
from experiments.what_heads_do.heads import Heads


@pytest.fixture
def data(small, compose):
    return prepare_data(resolve(compose(*small)))


@pytest.fixture
def model(small, compose, data):
    def made(*overrides):
        return make_model(resolve(compose(*small, *overrides)), data).double().eval()

    return made


@pytest.fixture
def text(data):
    return read(sentences("test", 12), data.tokenizers)


def test_a_head_that_copies_its_own_word_is_seen(data, model):
    sharp = model()
    before = Heads(sentences=100)(sharp, data)
    for attention in (m for m in sharp.modules() if isinstance(m, SelfAttention)):
        with torch.no_grad():
            attention.key.weight.copy_(50 * attention.query.weight)
    after = Heads(sentences=100)(sharp, data)
    assert before["own_encoder"] < 0.5 < after["own_encoder"]
    assert before["own_decoder"] < 0.5 < after["own_decoder"]
    assert before["equal_shares_encoder"] < 2 < after["equal_shares_encoder"]
    assert before["tiny_found"] < after["tiny_found"]
    assert set(after) == set(Heads.measures)


def test_sizes_of_layers(data, model, text):
    plain = model("model.n_layers=2", "model/residual=pre_ln")
    metrics = Layers(sentences=12)(plain, data)
    assert metrics["norm_error"] < 1e-2
    assert set(metrics) == set(Layers.measures)
    with torch.no_grad():
        for stack in (plain.encoder, plain.decoder):
            for name, parameter in stack.layers[-1].named_parameters():
                if name.startswith(
                    ("self_attention.output", "cross_attention.output", "feed_forward.outer")
                ):
                    parameter.zero_()
        plain.encoder.residual.norms[0].gain.fill_(2)
    idle = Layers(sentences=12)(plain, data)
    assert idle["last_layer"] == pytest.approx(0, abs=1e-9)
    assert idle["layers_alike"] == pytest.approx(1)
    assert idle["norm_error"] > 1
    assert idle["plain_norm_error"] < 1e-2
    assert nll(without_last_layer(plain), text) == pytest.approx(nll(plain, text))


def test_a_run_measures_its_trained_and_its_untrained_model(small, compose, data, monkeypatch):
    measured = [*small, "measure=layers", "measure.sentences=12"]
    measured += ["test_splits=[validation]"]
    trained = run(resolve(compose(*measured)))
    monkeypatch.setattr(Training, "training_step", None)  # would raise
    initial = run(resolve(compose(*measured, "weights=initial")))
    assert initial["training"] == trained["training"]
    expected = instantiate(compose(*measured).measure)(
        make_model(resolve(compose(*small)), data).double().eval(), data
    )
    for name, value in expected.items():
        assert initial["metrics"][f"measure/{name}"] == pytest.approx(value)
    assert trained["metrics"]["measure/norm_error"] > initial["metrics"]["measure/norm_error"]
    assert trained["metrics"]["validation/nll"] != initial["metrics"]["validation/nll"]
