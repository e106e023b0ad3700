"""Test the laws of losses on random logits of 9 rows and 12 tokens.

A law is a property that every loss must have. A function tests one law and yields a message for
each violation. Its docstring states the law, because error messages quote the docstring
(`ablate.testing.Check`).
"""

from collections.abc import Iterator
from enum import Enum
from typing import Any

import torch
from hydra.utils import instantiate
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from ablate.loss import Law
from ablate.testing.level import Level


def rows() -> tuple[Float[Tensor, "9 12"], Int[Tensor, " 9"]]:
    """Return random logits that require a gradient, and random target ids without padding."""
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(9, 12, generator=generator, requires_grad=True)
    return logits, torch.randint(1, 12, (9,), generator=generator)


def scalars(level: Level) -> Iterator[str]:
    """The loss returns two scalars: an objective with a finite gradient, and an nll without a
    gradient.
    """
    logits, targets = rows()
    objective, nll = instantiate(level.config)(logits, targets)
    objective.backward()
    if not objective.shape == nll.shape == ():
        yield f"shapes {tuple(objective.shape)} and {tuple(nll.shape)}"
    if logits.grad is None or not logits.grad.isfinite().all():
        yield "no finite gradient"
    if nll.requires_grad:
        yield "the nll has a gradient"


def nll_as_it_is(level: Level) -> Iterator[str]:
    """The second scalar that the loss returns is the mean negative log-likelihood without
    smoothing.
    """
    logits, targets = rows()
    _, nll = instantiate(level.config)(logits, targets)
    expected = F.cross_entropy(logits, targets)
    if not torch.allclose(nll, expected.detach()):
        yield f"{nll:.4f} for {expected:.4f}"


def nll_without_smoothing(level: Level) -> Iterator[str]:
    """With `epsilon` 0, or without this setting, the objective equals the negative
    log-likelihood.
    """
    plain: Any = {**level.config, "epsilon": 0.0} if "epsilon" in level.config else level.config
    objective, nll = instantiate(plain)(*rows())
    if not torch.allclose(objective, nll):
        yield f"{objective:.4f} for {nll:.4f}"


def chunks(level: Level) -> Iterator[str]:
    """If the objective is a mean over rows, it does not depend on how the rows are split into
    chunks.
    """
    loss = instantiate(level.config)
    if not loss.mean_over_rows:
        return
    logits, targets = rows()
    whole, first, second = (
        loss(logits[part], targets[part])[0] for part in (slice(9), slice(6), slice(6, 9))
    )
    if not torch.allclose(whole, (6 * first + 3 * second) / 9):
        yield "6 and 3 rows have another mean than 9"


LAWS: dict[Any, Enum | None] = {
    scalars: None,
    nll_as_it_is: None,
    nll_without_smoothing: Law.NLL_WITHOUT_SMOOTHING,
    chunks: None,
}
