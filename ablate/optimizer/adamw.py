"""AdamW with weight decay only for some roles of parameters, such as matrices but not biases.

Equation: AdamW, with weight decay for parameters of the roles in `decayed`, and none for others.
    The learning rate of a role is `lr` times the factor of model/parametrisation.
Source: arXiv:1711.05101 (AdamW). It is customary not to decay norms, biases and embeddings; on
    embeddings see arXiv:2501.00656.
What differs: nothing; torch's AdamW makes the steps. `optimizer=adamw` decays all parameters.
What to expect: nearly the same loss; gains and embeddings do not shrink.
"""

from typing import Annotated

import torch
from torch import nn

from ablate.config.limits import Range
from ablate.errors import UserError
from ablate.optimizer.base import ByRole, decay_groups
from ablate.optimizer.roles import ROLES, trained


class AdamW(ByRole, torch.optim.AdamW):
    """AdamW with weight decay only for some roles of parameters.

    Args:
        module: module whose parameters are trained.
        lr: peak learning rate.
        betas: decay rates of the moving averages of the gradient and of its square.
        eps: small constant added to the root of the average squared gradient, by which a step is
            divided.
        weight_decay: weight decay; each step subtracts learning rate * weight_decay * weight.
        decayed: roles of parameters with weight decay: any of matrices, embeddings, norms and
            biases.
        fused: true: use PyTorch's fused kernel, which updates all parameters at once.

    Raises:
        UserError: `decayed` contains an unknown role.
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
    """Raise UserError if `decayed` contains an unknown role of parameters."""
    for role in decayed:
        if role not in ROLES:
            raise UserError(
                f"optimizer.decayed has {role!r}: it may have any of {', '.join(ROLES)}"
            )
