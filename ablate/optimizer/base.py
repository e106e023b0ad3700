"""The seam of optimisers that treat the roles of parameters unlike, and several as one."""

from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any

import torch
from torch import nn

from ablate.errors import UserError
from ablate.model.parametrisation.standard import parametrisation_of
from ablate.optimizer.roles import Trained

Factory = Callable[..., torch.optim.Optimizer]


class ByRole(torch.optim.Optimizer):
    """Built as `optimizer(module)` of what holds the parameters, where torch's take them alone."""

    by_role = True


def make_optimizer(factory: Factory, module: nn.Module) -> torch.optim.Optimizer:
    """Return the optimiser of what a module trains.

    Raises:
        UserError: there is nothing that it could train, or it knows nothing of roles and the model
            has learning rates by role.
    """
    by_role = getattr(getattr(factory, "func", factory), "by_role", False)
    if not by_role:
        check_one_rate(module, "this optimizer")
    return factory(module if by_role else (p for p in module.parameters() if p.requires_grad))


def check_one_rate(module: nn.Module, optimizer: str) -> None:
    """Raise UserError where the model has learning rates by role, and the optimiser one for all."""
    if parametrisation_of(module).rates_by_role:
        raise UserError(
            f"{optimizer} has one learning rate for all parameters, and model/parametrisation "
            "gives roles rates of their own: choose optimizer=adamw_by_role, or "
            "model/parametrisation=standard"
        )


def decay_groups(
    parameters: Sequence[Trained], decayed: Sequence[str], weight_decay: float, lr: float
) -> list[dict[str, object]]:
    """Return groups of torch's optimisers, those with weight decay first, a group for each rate."""
    groups: dict[tuple[bool, float], list[nn.Parameter]] = {}
    for p in sorted(parameters, key=lambda p: p.role not in decayed):
        groups.setdefault((p.role in decayed, p.rate), []).append(p.parameter)
    return [
        {"params": params, "weight_decay": weight_decay if decays else 0.0, "lr": lr * rate}
        for (decays, rate), params in groups.items()
    ]


class Composite(ByRole):
    """Several optimisers, each of its own parameters, that are one to whoever calls them.

    They share their groups with it, so that a schedule acts on all, and their state, so that it is
    saved and loaded as that of any optimiser.
    """

    def __init__(self, optimizers: Sequence[torch.optim.Optimizer]) -> None:
        self.optimizers = list(optimizers)
        super().__init__([group for part in optimizers for group in part.param_groups], {})
        self.defaults = {key: v for part in optimizers for key, v in part.defaults.items()}
        self._share()

    def __setstate__(self, state: dict[str, object]) -> None:
        """Take a state that was loaded, and give it to all."""
        super().__setstate__(state)
        self._share()

    def _share(self) -> None:
        groups = iter(self.param_groups)
        for part in self.optimizers:
            part.param_groups = list(islice(groups, len(part.param_groups)))
            part.state = self.state

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Make one step of each; return the loss that `closure` computes before."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for part in self.optimizers:
            part.step()
        return loss
