"""AdamW whose weight decay acts on matrices alone, beside torch's AdamW."""

import pytest
import torch
from torch import nn

from ablate.config.construct import construct
from ablate.optimizer.matrices import AdamWMatrices

SETTINGS = dict(lr=0.01, betas=[0.9, 0.99], eps=1e-8, fused=False, weight_decay=0.5)


def trained(make, steps=5):
    torch.manual_seed(1)
    net = nn.Sequential(nn.Embedding(7, 4), nn.Linear(4, 4), nn.LayerNorm(4), nn.Linear(4, 7))
    optimizer = make(net)
    ids = torch.arange(7)
    for _ in range(steps):
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(ids), ids.flip(0)).backward()
        optimizer.step()
    return dict(net.named_parameters())


def test_steps_are_those_of_two_groups_of_torch():
    def by_torch(net):
        groups = [
            {"params": [p for p in net.parameters() if p.dim() > 1], "weight_decay": 0.5},
            {"params": [p for p in net.parameters() if p.dim() < 2], "weight_decay": 0.0},
        ]
        return torch.optim.AdamW(groups, lr=0.01, betas=(0.9, 0.99), eps=1e-8)

    ours, torchs = (
        trained(lambda net: AdamWMatrices(net.parameters(), **SETTINGS)),
        trained(by_torch),
    )
    assert all(ours[name].equal(torchs[name]) for name in ours)
    plain = trained(lambda net: torch.optim.AdamW(net.parameters(), lr=0.01, weight_decay=0.5))
    assert not any(ours[name].equal(plain[name]) for name in ours)


@pytest.mark.parametrize("shape", [(3,), (2, 3)])
def test_one_kind_of_parameters_is_enough(shape):
    optimizer = AdamWMatrices([nn.Parameter(torch.ones(shape))], **SETTINGS)
    (group,) = optimizer.param_groups
    assert group["weight_decay"] == (0.5 if len(shape) > 1 else 0.0)
    optimizer.param_groups[0]["params"][0].grad = torch.zeros(shape)
    optimizer.step()
    left = 1 - 0.01 * 0.5 if len(shape) > 1 else 1.0
    assert torch.allclose(group["params"][0], torch.full(shape, left))


def test_a_config_has_it(compose):
    made = construct(compose("optimizer=adamw_matrices").optimizer)
    optimizer = made(nn.LayerNorm(3).parameters())
    assert [group["weight_decay"] for group in optimizer.param_groups] == [0.0]
