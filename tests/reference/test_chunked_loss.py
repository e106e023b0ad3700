"""The chunked loss against the plain one, forward and gradients; our dropout against its law."""

import pytest
import torch
from torch.nn import functional as F

from ablate.data import PAD
from ablate.loss import TARGETS, CrossEntropy, LabelSmoothing, Loss
from ablate.model import head
from ablate.model.head import LinearHead
from ablate.model.layers import Dropout


class Focal(Loss):
    """A loss of which no gradient is known: the nll of unsure rows counts more."""

    mean_over_rows = True

    def forward(self, logits, targets):
        nll = F.cross_entropy(logits, targets, reduction="none")
        return ((1 - (-nll).exp()) * nll).mean(), nll.mean().detach()


CLOSED = [CrossEntropy(), *(LabelSmoothing(epsilon=0.1, target=target) for target in TARGETS)]
LOSSES = [*CLOSED, Focal()]


@pytest.fixture(autouse=True)
def in_chunks(monkeypatch):
    """Also few logits are computed in chunks."""
    monkeypatch.setattr(head, "FEW", 0)


def task():
    generator = torch.Generator().manual_seed(0)
    weight = torch.randn(11, 6, generator=generator).requires_grad_()
    states = torch.randn(23, 6, generator=generator).requires_grad_()
    return weight, states, torch.randint(1, 11, (23,), generator=generator)


def score(loss, weight, states, targets):
    """Return what the linear head with this weight makes of a loss."""
    return LinearHead(lambda: weight).score(loss, states, targets)


def gradients(objective, weight, states):
    (objective * 3).backward()
    return states.grad, weight.grad


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: getattr(loss, "target", type(loss)))
def test_chunks_give_what_the_whole_gives(loss, monkeypatch):
    monkeypatch.setattr(head, "AT_ONCE", 4 * 5 * 11)  # five rows, the last chunk shorter
    monkeypatch.setattr(head, "BLOCK", 5)
    weight, states, targets = task()
    plain = loss(F.linear(states, weight), targets)
    result = score(loss, *task())
    torch.testing.assert_close(result, plain)
    chunked_task, whole_task = task(), task()
    of_chunks = gradients(score(loss, *chunked_task)[0], *chunked_task[:2])
    of_whole = gradients(
        loss(F.linear(whole_task[1], whole_task[0]), whole_task[2])[0], *whole_task[:2]
    )
    torch.testing.assert_close(of_chunks, of_whole)
    with torch.no_grad():
        torch.testing.assert_close(score(loss, *task()), result)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: getattr(loss, "target", type(loss)))
def test_bfloat16_is_that_of_autocast(loss):
    chunked_task, whole_task = task(), task()
    with torch.autocast("cpu", torch.bfloat16):
        of_chunks = gradients(score(loss, *chunked_task)[0], *chunked_task[:2])
        logits = F.linear(whole_task[1], whole_task[0]).float()
    of_whole = gradients(loss(logits, whole_task[2])[0], *whole_task[:2])
    for part, expected in zip(of_chunks, of_whole, strict=True):
        assert part.dtype == torch.float32
        assert (part - expected).norm() <= 0.02 * expected.norm()


@pytest.mark.parametrize("loss", CLOSED, ids=lambda loss: getattr(loss, "target", type(loss)))
@pytest.mark.parametrize("spread", [1, 1000])  # at 100, probabilities underflow in float32
def test_float64_stays_float64(loss, spread):
    chunked_task, whole_task = ([x.detach().double() for x in task()[:2]] for _ in range(2))
    for tensors in (chunked_task, whole_task):
        tensors[1] *= spread
        for tensor in tensors:
            tensor.requires_grad_()
    targets = task()[2]
    result, plain = score(loss, *chunked_task, targets), loss(F.linear(*whole_task[::-1]), targets)
    torch.testing.assert_close(result, plain, rtol=1e-12, atol=1e-12)
    of_chunks, of_whole = gradients(result[0], *chunked_task), gradients(plain[0], *whole_task)
    torch.testing.assert_close(of_chunks, of_whole, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("loss", CLOSED, ids=lambda loss: getattr(loss, "target", type(loss)))
@pytest.mark.parametrize("spread", [0.1, 1.0, 20.0])  # of logits: at first, and of sure models
def test_low_precision_rounds_the_gradient_and_leaves_the_logits(loss, spread):
    generator = torch.Generator().manual_seed(0)
    logits = (torch.randn(400, 50, generator=generator) * spread).bfloat16()
    targets, before = torch.randint(1, 50, (400,), generator=generator), logits.clone()
    approximate, exact = torch.empty_like(logits), torch.empty(400, 50)
    of_half = loss.gradient(logits, targets, approximate)
    of_float = loss.gradient(logits.float(), targets, exact)
    assert torch.equal(logits, before)
    assert ((approximate.float() - exact).abs() <= 2**-8).all()
    alike = torch.ones_like(exact, dtype=torch.bool)  # but PAD and the true token
    alike[:, PAD] = alike[torch.arange(400), targets] = False
    torch.testing.assert_close(approximate[alike].float(), exact[alike], rtol=2**-8, atol=1e-30)
    assert of_half.nll.item() == pytest.approx(of_float.nll.item(), rel=2e-3)
    assert of_half.objective.item() == pytest.approx(of_float.objective.item(), rel=2e-3)


def test_dropout_zeroes_its_share_and_keeps_the_mean():
    torch.manual_seed(0)
    x = torch.ones(1000, 1001, requires_grad=True)
    y = Dropout(0.3)(x)
    y.sum().backward()
    assert (y == 0).double().mean().item() == pytest.approx(77 / 256, abs=0.002)
    assert y.mean().item() == pytest.approx(1.0, abs=0.003)
    assert y.unique().numel() == 2
    assert torch.equal(x.grad, y.detach())  # the same mask backwards
