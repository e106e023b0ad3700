"""The chunked loss against the plain one, forward and gradients; our dropout against its law."""

import pytest
import torch
from torch.nn import functional as F

from ablate.loss import chunked
from ablate.loss.cross_entropy import CrossEntropy
from ablate.loss.label_smoothing import LabelSmoothing
from ablate.model.dropout import Dropout

LOSSES = [CrossEntropy(), LabelSmoothing(epsilon=0.1, target="not_true_nor_pad")]


def scored(loss, *, with_gradient=True):
    generator = torch.Generator().manual_seed(0)
    weight = torch.randn(11, 6, generator=generator).requires_grad_()
    states = torch.randn(23, 6, generator=generator).requires_grad_()
    targets = torch.randint(0, 11, (23,), generator=generator)
    with torch.set_grad_enabled(with_gradient):
        objective, nll = chunked.loss_of_states(loss, weight, states, targets)
    if with_gradient:
        (objective * 3).backward()
    return objective, nll, states.grad, weight.grad


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
@pytest.mark.parametrize("with_gradient", [True, False])
def test_chunks_give_what_the_whole_gives(loss, with_gradient, monkeypatch):
    whole = scored(loss, with_gradient=with_gradient)
    monkeypatch.setattr(chunked, "LOGITS_AT_ONCE", 5 * 11)  # five rows, the last chunk shorter
    parts = scored(loss, with_gradient=with_gradient)
    for part, expected in zip(parts, whole, strict=True):
        torch.testing.assert_close(part, expected)


def test_dropout_zeroes_its_share_and_keeps_the_mean():
    torch.manual_seed(0)
    x = torch.ones(1000, 1001, requires_grad=True)
    y = Dropout(0.3)(x)
    y.sum().backward()
    assert (y == 0).double().mean().item() == pytest.approx(0.3, abs=0.002)
    assert y.mean().item() == pytest.approx(1.0, abs=0.003)
    assert y.unique().numel() == 2
    assert torch.equal(x.grad, y.detach())  # the same mask backwards


def test_dropout_decides_for_every_value_on_its_own():
    torch.manual_seed(0)
    zeros = (Dropout(0.5)(torch.ones(4001, 4, 64)) == 0).double()
    for shift in (1, 2, 3, 4, 64, 256):  # neighbours are cut from the same random number
        flat = zeros.flatten()
        together = (flat[:-shift] * flat[shift:]).mean().item()
        assert together == pytest.approx(0.25, abs=0.003)


def test_dropout_is_off_in_evaluation_and_repeats_with_the_seed():
    x, layer = torch.randn(3, 5), Dropout(0.5)
    torch.manual_seed(1)
    first = layer(x)
    torch.manual_seed(1)
    assert torch.equal(layer(x), first)
    assert layer.eval()(x) is x


def test_dropout_has_the_spread_of_torchs():
    torch.manual_seed(0)
    ours = Dropout(0.1)(torch.ones(200, 5000)).sum(1).std()
    theirs = F.dropout(torch.ones(200, 5000), 0.1).sum(1).std()
    assert ours.item() == pytest.approx(theirs.item(), rel=0.2)
