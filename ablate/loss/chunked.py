"""The loss of many rows without ever holding all of their logits.

The logits of a batch are its largest tensor (4096 tokens x 8000 pieces: 131 MB); writing and
reading them costs more than the products they come from. Here rows are projected and scored a
chunk at a time, and a chunk's gradient is taken before the next one is projected. The numbers are
those of the whole, up to the order of summation.
"""

from collections.abc import Iterator
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from ablate.loss.base import Loss

LOGITS_AT_ONCE = 1 << 22  # 16 MB in float32, about what a cache holds


def loss_of_states(
    loss: Loss,
    weight: Float[Tensor, "V D"],
    states: Float[Tensor, "N D"],
    targets: Int[Tensor, " N"],
) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
    """Return the loss of the logits `states weight^T`: the objective and the nll.

    Args:
        loss: scores logits against targets.
        weight: the output projection.
        states: hidden states at real target positions.
        targets: the token that follows each of them.
    """
    if len(targets) * len(weight) <= LOGITS_AT_ONCE:
        return _scored(loss, weight, states, targets)
    if torch.is_grad_enabled():
        objective, nll = _Chunked.apply(loss, targets, states, weight)  # type: ignore[no-untyped-call]
        return objective, nll
    parts = [
        torch.stack(_scored(loss, weight, states[chunk], targets[chunk])) * share
        for chunk, share in chunks(len(targets), len(weight))
    ]
    objective, nll = torch.stack(parts).sum(0)
    return objective, nll


def _scored(loss: Loss, weight: Tensor, states: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    objective, nll = loss(F.linear(states, weight), targets)
    return objective, nll


def chunks(n: int, vocab: int) -> Iterator[tuple[slice, float]]:
    """Yield slices of the rows, each with its share of them."""
    rows = max(1, LOGITS_AT_ONCE // vocab)
    for start in range(0, n, rows):
        yield slice(start, start + rows), min(rows, n - start) / n


class _Chunked(torch.autograd.Function):
    """Takes the gradients in the forward pass, while a chunk's logits are at hand."""

    @staticmethod
    def forward(
        ctx: Any, loss: Loss, targets: Tensor, states: Tensor, weight: Tensor
    ) -> tuple[Tensor, Tensor]:
        to_states, to_weight = torch.empty_like(states), torch.zeros_like(weight)
        total = torch.zeros(2, device=states.device)
        for chunk, share in chunks(len(targets), len(weight)):
            with torch.enable_grad():
                part = states[chunk].detach().requires_grad_()
                objective, nll = _scored(loss, weight, part, targets[chunk])
                grads = torch.autograd.grad(objective * share, [part, weight])
            to_states[chunk] = grads[0]
            to_weight += grads[1]
            total += torch.stack([objective.detach(), nll]) * share
        ctx.save_for_backward(to_states, to_weight)
        objective, nll = total[0].clone(), total[1].clone()
        ctx.mark_non_differentiable(nll)
        return objective, nll

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> tuple[None, None, Tensor, Tensor]:
        to_states, to_weight = ctx.saved_tensors
        return None, None, to_states * upstream[0], to_weight * upstream[0]
