"""Initial values that depend on the seed and on the name of a parameter, and on nothing else."""

from typing import Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from ablate.seeding import stream


@runtime_checkable
class DrawsItsOwn(Protocol):
    """A module whose own parameters want other initial values than the rule gives."""

    def draw_initial_values(self, parameter: Tensor, generator: torch.Generator | None) -> None:
        """Fill one of the module's own parameters in place, drawing from `generator` only."""


def initialise(model: nn.Module, seed: int) -> None:
    """Fill every parameter in place: matrices Xavier uniform, biases 0, gains 1.

    Each draws from a generator of its own, keyed by seed and name, so that arms of a study
    share the initial values of every parameter that they share (name and shape). A module that
    wants others has a method `draw_initial_values`. A parameter with several names has the
    values of the first.
    """
    for path, module in model.named_modules():
        for name, parameter in module.named_parameters(prefix=path, recurse=False):
            generator = torch.Generator(parameter.device).manual_seed(stream(seed, name))
            with torch.no_grad():
                fill(module, name, parameter, generator)


def fill(module: nn.Module, name: str, parameter: Tensor, generator: torch.Generator) -> None:
    """Fill one parameter of a module."""
    if isinstance(module, DrawsItsOwn):
        module.draw_initial_values(parameter, generator)
    elif parameter.dim() > 1:
        nn.init.xavier_uniform_(parameter, generator=generator)
    else:
        parameter.fill_(0.0 if name.endswith("bias") else 1.0)
