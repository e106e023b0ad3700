"""What sub-layers read and add, against a model of which both are known."""

import math

import pytest
import torch

from ablate.model import Seq2Seq
from ablate.model.residual import Residual
from ablate.observe import Sublayers, drift, moments_of, ratio, read

INPUTS = Seq2Seq(torch.tensor([[5, 6, 7, 2], [8, 2, 0, 0]]), torch.tensor([[1, 5, 6], [1, 9, 0]]))


@pytest.fixture
def model(build_model):
    return lambda *overrides: build_model(*overrides).eval()


def test_every_sublayer_is_read_at_real_tokens_and_left_as_it_was(model):
    network = model("model/residual=pre_ln")
    before = network(INPUTS)
    readings = read(network, INPUTS)
    assert [len(reading.read) for reading in readings[:2]] == [6, 6]  # of the source
    assert {len(reading.read) for reading in readings[-3:]} == {5}
    assert len(readings) == sum(
        len(part.norms) for part in network.modules() if hasattr(part, "norms")
    )
    assert not any(
        "through" in vars(part) for part in network.modules() if isinstance(part, Residual)
    )
    assert torch.equal(network(INPUTS), before)


def test_the_stream_of_pre_ln_is_what_was_added_up(model):
    first, second, *_ = read(model("model/residual=pre_ln"), INPUTS)
    assert torch.allclose(first.stream + first.given, second.stream, atol=1e-6)
    assert torch.allclose(ratio(first), first.given.norm(dim=1) / first.stream.norm(dim=1))


@pytest.mark.parametrize("residual", ["post_ln", "dual", "none"])
def test_without_a_norm_before_a_sublayer_the_stream_is_what_is_read(model, residual):
    for reading in read(model(f"model/residual={residual}"), INPUTS):
        assert torch.equal(reading.read, reading.stream)


def test_drift_is_of_channels_and_not_of_their_scale():
    x = torch.randn(500, 3, generator=torch.Generator().manual_seed(0))
    still, moved = moments_of(x), moments_of(x + torch.tensor([0.0, 1.0, 0.0]) * x.std(0))
    assert drift(still, still).abs().max() < 1e-6
    assert drift(still, moved)[1] == pytest.approx(1 / 8, rel=0.01)
    assert drift(still, moved)[[0, 2]].abs().max() < 1e-6
    wider = drift(still, moments_of(2 * x - x.mean(0)))
    assert wider == pytest.approx([math.log(5 / 4) / 2] * 3, rel=1e-3)
    scaled = drift(moments_of(9 * x), moments_of(9 * (x + x.std(0))))
    assert scaled == pytest.approx([1 / 8] * 3, rel=0.01)


def test_a_run_that_goes_on_remembers():
    first, later = Sublayers(), Sublayers()
    first.drifts, first.added, first.moments = [1.0, 3.0], [0.5, 2.0], torch.ones(1, 2, 3)
    later.load_state_dict(first.state_dict())
    assert later.metrics() == first.metrics()
    assert first.metrics() == {
        "residual/added_most": 2.0,
        "residual/added_least": 0.5,
        "residual/drift": 2.0,
    }
    assert Sublayers().metrics() == {}
