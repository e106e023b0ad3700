"""AdamW that decays the weights of some roles only.

Equation: AdamW, with weight decay for parameters of the roles in `decayed`, and none for others.
    The learning rate of a role is `lr` times the factor of model/parametrisation.
Source: arXiv:1711.05101 (AdamW). That norms, biases and embeddings are left alone is custom; on
    embeddings see arXiv:2501.00656.
What differs: nothing; torch's AdamW does the steps. `optimizer=adamw` decays everything.
What to expect: much the same loss; gains and embeddings that keep their size.
"""

from typing import Annotated

import torch
from torch import nn

from ablate.config.limits import Range
from ablate.errors import UserError
from ablate.optimizer.base import ByRole, decay_groups
from ablate.optimizer.roles import ROLES, trained


class AdamW(ByRole, torch.optim.AdamW):
    """Steps of Adam, and decay by role.

    Args:
        module: holds what it trains.
        lr: the peak of the learning rate.
        betas: decay of both averages of the gradient.
        eps: added to the root of the second one.
        weight_decay: share of a weight that goes, times the learning rate, at each step.
        decayed: of matrices, embeddings, norms and biases, the roles that decay.
        fused: whether one kernel does a step.

    Raises:
        UserError: another role.
    """

    def __init__(
        self,
        module: nn.Module,
        *,
        lr: Annotated[float, Range(0)],
        betas: list[float],
        eps: Annotated[float, Range(0)],
        weight_decay: Annotated[float, Range(0)],
        decayed: list[str],
        fused: bool,
    ) -> None:
        check_roles(decayed)
        groups = decay_groups(trained(module), decayed, weight_decay, lr)
        first, second = betas
        super().__init__(groups, lr=lr, betas=(first, second), eps=eps, fused=fused)


def check_roles(decayed: list[str]) -> None:
    """Raise UserError where there is no such role."""
    for role in decayed:
        if role not in ROLES:
            raise UserError(
                f"optimizer.decayed has {role!r}: it may have any of {', '.join(ROLES)}"
            )
