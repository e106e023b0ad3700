"""Losses against torch's own, and against plain loops over rows and tokens."""

import pytest
import torch
from torch.nn import functional as F

from ablate.loss import TARGETS, KullbackLeibler
from experiments.padding_counted.loss import PaddingCounted
from experiments.shared.loss.difference import Difference
from experiments.shared.loss.sparsemax import Sparsemax

LOSSES = {
    **{f"kl_{name}": KullbackLeibler(epsilon=0.1, target=name) for name in TARGETS},
    "squared": Difference(power=2),
    "absolute": Difference(power=1),
    "sparsemax": Sparsemax(),
    "padding_counted": PaddingCounted(divisor="real"),
}
every_loss = pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)


@pytest.fixture
def rows():
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(9, 12, generator=generator, dtype=torch.float64)
    return logits, torch.randint(1, 12, (9,), generator=generator)


def by_autograd(function, logits):
    logits = logits.clone().requires_grad_()
    objective = function(logits)
    objective.backward()
    return objective.detach(), logits.grad


@every_loss
def test_the_gradient_is_that_of_the_objective(loss, rows):
    logits, targets = rows
    assert torch.autograd.gradcheck(lambda x: loss(x, targets)[0], logits.requires_grad_())
    expected, gradient = by_autograd(lambda x: loss(x, targets)[0] * 9, logits.detach())
    out = torch.empty_like(gradient)
    scored = loss.gradient(logits.detach(), targets, out)
    torch.testing.assert_close(out + scored.logit_coefficient, gradient)
    whole = scored.objective + scored.logit_coefficient * logits.detach().sum()
    torch.testing.assert_close(whole.double(), expected, rtol=1e-6, atol=1e-6)
    nll = F.cross_entropy(logits.detach(), targets, reduction="sum")
    torch.testing.assert_close(scored.nll.double(), nll, rtol=1e-6, atol=1e-6)


def smoothed(targets, vocab, name):
    """A target row by row, as its docstring says."""
    rows = torch.zeros(len(targets), vocab, dtype=torch.float64)
    for row, true in enumerate(targets.tolist()):
        sharing = {
            "vocab": list(range(vocab)),
            "not_true": [v for v in range(vocab) if v != true],
            "not_true_nor_pad": [v for v in range(vocab) if v not in (0, true)],
        }[name]
        rows[row, true] = 0.9
        for v in sharing:
            rows[row, v] += 0.1 / len(sharing)
    return rows


@pytest.mark.parametrize("name", TARGETS)
def test_kl_is_torchs(rows, name):
    logits, targets = rows
    q = smoothed(targets, 12, name)
    expected = F.kl_div(logits.log_softmax(1), q, reduction="batchmean")
    objective, _ = KullbackLeibler(epsilon=0.1, target=name)(logits, targets)
    torch.testing.assert_close(objective, expected)
    perfect = KullbackLeibler(epsilon=0.1, target=name)(q.log().clamp(min=-1e4), targets)[0]
    assert perfect.abs() < 1e-9


@pytest.mark.parametrize(("power", "torchs"), [(1, F.l1_loss), (2, F.mse_loss)])
def test_differences_are_torchs(rows, power, torchs):
    logits, targets = rows
    objective, _ = Difference(power=power)(logits, targets)
    p, y = logits.softmax(1), F.one_hot(targets, 12).double()
    torch.testing.assert_close(objective, 12 * torchs(p, y))


def projected(row):
    """The nearest probabilities to a row, by bisection on what is taken off."""
    low, high = min(row) - 1, max(row)
    for _ in range(100):
        middle = (low + high) / 2
        if sum(max(0.0, x - middle) for x in row) > 1:
            low = middle
        else:
            high = middle
    return [max(0.0, x - low) for x in row]


def test_sparsemax_is_the_projection_onto_the_simplex(rows):
    logits, targets = rows
    expected = torch.tensor([projected(row) for row in logits.tolist()], dtype=torch.float64)
    assert (expected == 0).any(1).all()
    _, gradient = by_autograd(lambda x: Sparsemax()(x, targets)[0] * 9, logits)
    torch.testing.assert_close(gradient + F.one_hot(targets, 12), expected)
    objective, _ = Sparsemax()(logits, targets)
    # by Fenchel and Young: half the squared distances to the true token and to the projection
    y = F.one_hot(targets, 12)
    distances = (y - logits).square().sum(1) - (expected - logits).square().sum(1)
    torch.testing.assert_close(objective, distances.mean() / 2)


@pytest.mark.parametrize("divisor", ["real", "all"])
def test_padding_counts_as_rows_whose_target_is_pad(rows, divisor):
    logits, targets = rows
    targets[2::3] = 0
    loss = PaddingCounted(divisor=divisor)
    _, nll = loss(logits, targets)
    torch.testing.assert_close(nll, F.cross_entropy(logits, targets, ignore_index=0))
    n = 6 if divisor == "real" else 9
    results = by_autograd(lambda x: loss(x, targets)[0], logits)
    expected = by_autograd(
        lambda x: -sum(x.log_softmax(1)[i, target] for i, target in enumerate(targets)) / n, logits
    )
    for result, expected_result in zip(results, expected, strict=True):
        torch.testing.assert_close(result, expected_result)
    if divisor == "all":
        torch.testing.assert_close(results[0], F.cross_entropy(logits, targets))
