"""The interface of optimisers that treat parameters by role, and an optimiser made of several.

The role of a parameter is "matrices", "embeddings", "norms" or "biases".
"""

from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any

import torch
from torch import nn

from ablate.errors import UserError
from ablate.model.parametrisation import parametrisation_of
from ablate.optimizer.roles import Trained

Factory = Callable[..., torch.optim.Optimizer]


class ByRole(torch.optim.Optimizer):
    """An optimiser that treats parameters by role; built from a module, as `optimizer(module)`.

    Optimisers of torch are built from the parameters alone.
    """

    by_role = True


def make_optimizer(factory: Factory, module: nn.Module) -> torch.optim.Optimizer:
    """Return the optimiser of the trainable parameters of a module.

    Raises:
        UserError: no parameter is trainable, or the optimiser has a single learning rate although
            the model's parametrisation (muP) requires different learning rates.
    """
    by_role = getattr(getattr(factory, "func", factory), "by_role", False)
    if not by_role:
        check_one_rate(module, "this optimizer")
    return factory(module if by_role else (p for p in module.parameters() if p.requires_grad))


def check_one_rate(module: nn.Module, optimizer: str) -> None:
    """Raise UserError if the model's parametrisation requires different learning rates.

    `optimizer` is the name, for the message, of an optimiser with a single learning rate.
    """
    if parametrisation_of(module).rates_by_role:
        raise UserError(
            f"{optimizer} has one learning rate for all parameters, but model/parametrisation "
            "sets a different one for each role of a parameter: choose optimizer=adamw_by_role, or "
            "model/parametrisation=standard"
        )


def decay_groups(
    parameters: Sequence[Trained], decayed: Sequence[str], weight_decay: float, lr: float
) -> list[dict[str, object]]:
    """Return parameter groups for torch, one for each learning rate, with and without weight decay.

    Groups with weight decay come first.

    Args:
        parameters: the parameters with their roles.
        decayed: the roles with weight decay.
        weight_decay: the weight decay of these roles.
        lr: the learning rate before the factor of a parameter's role.
    """
    groups: dict[tuple[bool, float], list[nn.Parameter]] = {}
    for p in sorted(parameters, key=lambda p: p.role not in decayed):
        groups.setdefault((p.role in decayed, p.rate), []).append(p.parameter)
    return [
        {"params": params, "weight_decay": weight_decay if decays else 0.0, "lr": lr * rate}
        for (decays, rate), params in groups.items()
    ]


class Composite(ByRole):
    """Several optimisers for different parameters, which act as a single optimiser.

    The inner optimisers use the parameter groups and the state of this object. Therefore a schedule
    acts on all inner optimisers, and the state is saved and loaded as for any optimiser.
    """

    def __init__(self, optimizers: Sequence[torch.optim.Optimizer]) -> None:
        self.optimizers = list(optimizers)
        # whether a tensor `found_inf` of 1 leaves the weights unchanged, as in a fused AdamW
        self._step_supports_amp_scaling = all(
            getattr(part, "_step_supports_amp_scaling", False) for part in optimizers
        )
        super().__init__([group for part in optimizers for group in part.param_groups], {})
        self.defaults = {key: v for part in optimizers for key, v in part.defaults.items()}
        self._share()

    def __setstate__(self, state: dict[str, object]) -> None:
        """Set the state, as after loading, and share it with the inner optimisers."""
        super().__setstate__(state)
        self._share()

    def _share(self) -> None:
        groups = iter(self.param_groups)
        for part in self.optimizers:
            part.param_groups = list(islice(groups, len(part.param_groups)))
            part.state = self.state

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Make a step of every inner optimiser; return the loss that `closure` computes first."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for part in self.optimizers:
            part.found_inf = getattr(self, "found_inf", None)  # type: ignore[attr-defined]
            part.step()
        return loss
