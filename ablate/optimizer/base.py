"""The seam of optimisers that treat the roles of parameters unlike, and several as one."""

from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any

import torch
from torch import nn

from ablate.optimizer.roles import ROLES, Trained

Factory = Callable[..., torch.optim.Optimizer]


class ByRole(torch.optim.Optimizer):
    """Built as `optimizer(module)` of what holds the parameters, where torch's take them alone."""

    by_role = True


def make_optimizer(factory: Factory, module: nn.Module) -> torch.optim.Optimizer:
    """Return the optimiser of what a module trains.

    Raises:
        UserError: there is nothing that it could train.
    """
    by_role = getattr(getattr(factory, "func", factory), "by_role", False)
    return factory(module if by_role else (p for p in module.parameters() if p.requires_grad))


def decay_groups(
    parameters: Sequence[Trained], decayed: Sequence[str], weight_decay: float
) -> list[dict[str, Any]]:
    """Return the parameters in groups of torch's optimisers, with and without weight decay."""
    groups = [
        ([p.parameter for p in parameters if p.role in roles], decay)
        for roles, decay in ((set(decayed), weight_decay), (set(ROLES) - set(decayed), 0.0))
    ]
    return [{"params": params, "weight_decay": decay} for params, decay in groups if params]


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

    def __setstate__(self, state: dict[str, Any]) -> None:
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
