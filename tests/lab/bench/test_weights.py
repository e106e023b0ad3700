"""Converted weights are the same model: the baseline gives our logits with them."""

import importlib
import sys

import pytest
import torch

VOCABULARY = 40


@pytest.fixture
def baseline(monkeypatch):
    """The hand-written script as a module; it reads its options when it is imported."""
    monkeypatch.setattr(sys, "argv", ["baseline.py", "train", "--threads", "1"])
    for key in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.setenv(key, "1")  # it sets them itself, for good
    threads = torch.get_num_threads()
    yield importlib.import_module("lab.bench.baseline")
    torch.set_num_threads(threads)


@pytest.fixture
def models(baseline, small, compose):
    """One of ours, and the baseline with its weights."""
    from ablate.initial import initialise
    from ablate.model.base import build
    from lab.bench.weights import convert

    config = compose(*small, "model/residual=post_ln", "model.n_layers=2")
    ours = build(config.model, src_vocab=VOCABULARY, tgt_vocab=VOCABULARY, joint_vocab=True)
    initialise(ours, 1)
    theirs = baseline.Net(VOCABULARY, d=16, ff=32, heads=2, enc=2, dec=2, drop=0.1)
    theirs.load_state_dict(convert(ours.state_dict()))
    return ours.eval(), theirs.eval()


@pytest.mark.filterwarnings("ignore:.*nested tensors")  # torch's own way through its encoder
def test_both_sides_give_the_same_logits(models):
    ours, theirs = models
    random = torch.Generator().manual_seed(1)
    src, tgt = torch.randint(4, VOCABULARY, (2, 3, 7), generator=random)
    src[1, 5:] = 0
    with torch.no_grad():
        mine = ours.head(ours.decode(tgt, ours.encode(src)))
        other = theirs.logits(theirs(src, tgt))
    torch.testing.assert_close(mine, other, rtol=1e-4, atol=1e-4)


def test_every_parameter_goes_to_marian_once(models):
    from lab.bench.marian import EMBEDDINGS, to_marian

    _, theirs = models
    weights = theirs.state_dict()
    converted = to_marian(weights, theirs.pos)
    unique = sum(value.numel() for value in weights.values())
    shared = (len(EMBEDDINGS) - 1) * weights["embed.weight"].numel() + 2 * theirs.pos.numel()
    assert sum(value.numel() for value in converted.values()) == unique + shared
    attention = weights["body.decoder.layers.1.multihead_attn.in_proj_weight"]
    key = converted["model.decoder.layers.1.encoder_attn.k_proj.weight"]
    assert torch.equal(key, attention[16:32])
    norm = weights["body.encoder.layers.0.norm2.weight"]
    assert converted["model.encoder.layers.0.final_layer_norm.weight"] is norm
    assert not any("norm1" in name or "linear" in name or "body" in name for name in converted)
