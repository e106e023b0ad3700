"""How different heads are, by hand and in a model."""

import pytest
import torch
from scipy.spatial.distance import jensenshannon
from torch.nn.functional import pad

from ablate.observe.heads import distance, head_distances

KINDS = {"heads/encoder_self", "heads/decoder_self", "heads/decoder_cross"}


def weights(*heads):
    """Weights of one sentence with one query."""
    return torch.tensor(heads)[None, :, None]


ONE = torch.ones(1, 1, dtype=torch.bool)


def test_equal_heads_and_heads_that_share_nothing():
    assert distance(weights([0.2, 0.8], [0.2, 0.8]), ONE) == pytest.approx(0, abs=1e-7)
    assert distance(weights([1.0, 0.0], [0.0, 1.0]), ONE) == 1
    three = weights([1.0, 0.0], [0.0, 1.0], [1.0, 0.0])
    assert distance(three, ONE) == pytest.approx(2 / 3)
    assert distance(weights([0.3, 0.7]), ONE) == 0


def test_as_in_scipy_over_real_queries_only():
    random = torch.Generator().manual_seed(0)
    heads = torch.rand(2, 3, 4, 5, generator=random).softmax(-1)
    real = torch.tensor([[True, True, False, False], [True, True, True, True]])
    expected = [
        jensenshannon(heads[b, i, q], heads[b, j, q], base=2) ** 2
        for b, q in real.nonzero().tolist()
        for i, j in ((0, 1), (0, 2), (1, 2))
    ]
    assert distance(heads, real) == pytest.approx(sum(expected) / len(expected), rel=1e-5)


@pytest.fixture
def measured(compose, small):
    from ablate.train.prepare import make_model, prepare_data
    from ablate.train.resolve import resolve

    def measure_distances(*overrides):
        job = resolve(compose(*small, "model.n_layers=2", *overrides))
        data = prepare_data(job)
        batch = data.first_lines("validation", 8)
        return head_distances(make_model(job, data), batch, torch.device("cpu"))

    return measure_distances


def test_one_head_is_at_no_distance_from_itself(measured):
    assert measured("model.n_heads=1") == dict.fromkeys(KINDS, 0.0)


@pytest.mark.parametrize("attention", ["fused", "explicit"])
def test_several_heads_differ(measured, attention):
    distances = measured("model.n_heads=4", f"model/attention={attention}")
    assert set(distances) == KINDS
    assert all(1e-4 < value < 1 for value in distances.values())


def test_padding_changes_nothing(compose, small):
    from ablate.model.base import Seq2Seq
    from ablate.train.prepare import make_model, prepare_data
    from ablate.train.resolve import resolve

    job = resolve(compose(*small))
    data = prepare_data(job)
    model, batch = make_model(job, data), data.first_lines("validation", 8)
    src, tgt_in = batch.inputs
    inputs = Seq2Seq(pad(src, (0, 9)), pad(tgt_in, (0, 4)))
    wider = batch._replace(inputs=inputs, targets=pad(batch.targets, (0, 4)))
    plain = head_distances(model, batch, torch.device("cpu"))
    padded = head_distances(model, wider, torch.device("cpu"))
    assert padded == pytest.approx(plain, rel=1e-4)
