"""Laws of every loss."""

import pytest
import torch
from hydra.utils import get_class, instantiate
from torch.nn import functional as F


@pytest.fixture
def rows():
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(9, 12, generator=generator, requires_grad=True)
    return logits, torch.randint(1, 12, (9,), generator=generator)


def test_two_scalars_one_with_gradient(loss_config, rows):
    logits, targets = rows
    objective, nll = instantiate(loss_config)(logits, targets)
    objective.backward()
    assert objective.shape == nll.shape == ()
    assert logits.grad.isfinite().all()
    assert not nll.requires_grad


def test_nll_is_never_smoothed(loss_config, rows):
    logits, targets = rows
    _, nll = instantiate(loss_config)(logits, targets)
    torch.testing.assert_close(nll, F.cross_entropy(logits, targets).detach())


def test_without_smoothing_the_objective_is_the_nll(loss_config, rows):
    from ablate.loss.base import Law

    if "epsilon" in loss_config:
        loss_config.epsilon = 0.0
    objective, nll = instantiate(loss_config)(*rows)
    kept = Law.NLL_WITHOUT_SMOOTHING not in get_class(loss_config["_target_"]).breaks
    assert torch.allclose(objective, nll) == kept


def test_a_mean_over_rows_does_not_depend_on_how_rows_are_split(loss_config, rows):
    logits, targets = rows
    loss = instantiate(loss_config)
    whole, _ = loss(logits, targets)
    first, _ = loss(logits[:6], targets[:6])
    second, _ = loss(logits[6:], targets[6:])
    torch.testing.assert_close(whole, (6 * first + 3 * second) / 9)
