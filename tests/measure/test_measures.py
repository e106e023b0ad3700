"""What measures find in models that were made so, and what a run keeps of them."""

import math

import pytest
import torch
from hydra.utils import instantiate

from ablate.model.attention.multi_head import SelfAttention
from ablate.train.job import make_model, prepare_data
from ablate.train.module import Training
from ablate.train.resolve import resolve
from ablate.train.run import run
from experiments.shared.measure.gold import sentences
from experiments.shared.measure.inside import watched
from experiments.shared.measure.layers import Layers, without_last_layer
from experiments.shared.measure.pruning import Pruning, nll
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


def test_gold_sentences_are_read_as_the_corpus_reads_them(data, text):
    gold = sentences("test", 12)
    whole = data.tokenizers.src.encode_batch([" ".join(pair.src) for pair in gold])
    ids = [
        row[: spans[-1][1]].tolist() for row, spans in zip(text.inputs.src, text.src, strict=True)
    ]
    assert ids == whole


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


@pytest.mark.parametrize(
    "option",
    [
        *("model/block=parallel", "model/norm=rms_norm", "model/norm=layer_norm_plain"),
        "model.share_layers=all",
    ],
)
def test_layers_of_every_kind_are_measured(data, model, option):
    varied = model("model.n_layers=2", option)
    layers = Layers(sentences=12)
    layers.check_model(varied)
    metrics = layers(varied, data)
    assert all(map(math.isfinite, metrics.values()))
    assert (metrics["plain_norm_error"] < 1e-2) == (option != "model/norm=rms_norm")


def test_scores_are_those_of_the_softmax(data, model, text):
    options = ("model/position=alibi", "model.attention.scale=none")
    measured = model(*options)
    with watched(measured) as attended:
        measured(text.inputs)
    for name in ("encoder.0.self", "decoder.0.cross"):
        scores, weights = attended[name].scores, attended[name].weights
        logs = weights.log().masked_fill(weights == 0, math.nan)
        apart = (scores - logs) - (scores - logs)[..., :1]
        assert apart.isfinite().double().mean() > 0.5
        assert apart.nan_to_num().abs().max() < 1e-9


def test_a_head_that_gives_nothing_is_worth_nothing(data, model):
    pruned = model()
    with torch.no_grad():
        pruned.encoder.layers[0]["self_attention"].output.weight[:, :8] = (
            0  # the first of two heads
        )
    probe = Pruning(sentences=12, halves=2)
    probe.text = read(sentences("test", 12), data.tokenizers)
    attention = pruned.encoder.layers[0]["self_attention"]
    whole = nll(pruned, probe.text)
    assert probe.rise(pruned, attention, [0], whole) == pytest.approx(0, abs=1e-12)
    assert probe.rise(pruned, attention, [1], whole) != pytest.approx(0, abs=1e-6)
    assert set(probe(pruned, data)) == set(Pruning.measures)


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
