import math

import pytest
import torch
from torch.nn import functional as F
from torchmetrics.classification import MulticlassCalibrationError

from ablate.model.head import LinearHead
from ablate.task import Calibration, predictions


@pytest.fixture
def task():
    """Output projection, states and targets of 500 tokens; about 6 of 10 are predicted right."""
    random = torch.Generator().manual_seed(0)
    weight = torch.randn(37, 8, generator=random)
    states = torch.randn(500, 8, generator=random)
    likely = (states @ weight.T).argmax(1)
    targets = torch.where(torch.rand(500, generator=random) < 0.6, likely, likely.roll(1))
    return weight, states, targets


def measured(*batches):
    metric = Calibration()
    for confidence, correct in batches:
        metric.update(torch.as_tensor(confidence), torch.as_tensor(correct))
    return {name: value.item() for name, value in metric.compute().items()}


def test_the_same_as_torchmetrics(task):
    weight, states, targets = task
    logits = F.linear(states, weight)
    predicted = predictions(LinearHead(lambda: task[0]), *task[1:])
    theirs = MulticlassCalibrationError(num_classes=37, n_bins=15, norm="l1")
    ours = measured((predicted.confidence, predicted.correct))
    assert ours["calibration_error"] == pytest.approx(theirs(logits, targets).item(), abs=1e-6)
    right = (logits.argmax(1) == targets).double().mean().item()
    assert ours["accuracy"] == pytest.approx(right, abs=1e-12)
    assert 0.5 < right < 0.7


def test_the_nll_is_that_of_the_whole_in_any_chunks(task, monkeypatch):
    weight, states, targets = task
    whole = predictions(LinearHead(lambda: task[0]), *task[1:])
    expected = F.cross_entropy(F.linear(states, weight), targets)
    torch.testing.assert_close(whole.nll, expected)
    monkeypatch.setattr("ablate.model.head.AT_ONCE", 37 * 64 * 4)
    monkeypatch.setattr("ablate.model.head.BLOCK", 1)
    for tensor, other in zip(
        whole, predictions(LinearHead(lambda: task[0]), *task[1:]), strict=True
    ):
        torch.testing.assert_close(tensor, other)


def test_order_and_batches_change_no_bit():
    confidence = torch.rand(5000, generator=torch.Generator().manual_seed(1))
    correct = confidence > 0.4
    whole = measured((confidence, correct))
    order = torch.randperm(5000, generator=torch.Generator().manual_seed(2))
    parts = [(confidence[part], correct[part]) for part in order.split(77)]
    assert measured(*parts) == whole


def test_nan_stays_visible():
    assert math.isnan(measured(([math.nan, 0.5], [False, True]))["calibration_error"])
