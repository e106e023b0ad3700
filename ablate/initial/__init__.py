"""The interface of initial weights, and initial values that depend only on seed and name."""

from abc import ABC, abstractmethod
from typing import Protocol, runtime_checkable

import torch
from omegaconf import DictConfig
from torch import Tensor, nn

from ablate.config.construct import construct
from ablate.data.tokenizer import Tokenizers
from ablate.model.base import Model
from ablate.seeding import stream


class Initial(ABC):
    """Sets the weights from which training starts; an option of `initial`."""

    def check(self, model: Model) -> None:  # noqa: B027
        """Check, before training, that the option suits a model, whose weights may be on the meta
        device.

        Raises:
            UserError: the option does not suit the model.
        """

    @abstractmethod
    def __call__(self, model: Model, tokenizers: Tokenizers, seed: int) -> None:
        """Initialise every parameter of the model in place.

        Raises:
            UserError: a file with weights is missing, or does not fit the model.
        """

    def fingerprint(self) -> str:
        """Return a hash of the files that the option reads; "" if it reads no files.

        The hash decides, with the config, whether two runs are the same.
        """
        return ""


def weights_fingerprint(config: DictConfig) -> str:
    """Return the hash of the files from which a run's initial weights are read; "" without files.

    `config` is the config of the run.
    """
    initial: Initial = construct(config.initial)
    return initial.fingerprint()


class Seeded(Initial):
    """Initialise each parameter from the seed and the parameter's name alone.

    Draws each parameter from a separate random generator.

    Equation: matrices uniform in +-sqrt(6 / (rows + columns)), biases 0, gains 1. Embeddings and
        learned positions are normal with standard deviation d_model^-0.5.
    Source: Glorot and Bengio 2010 (Xavier uniform), as in tensor2tensor (arXiv:1803.07416).
    What differs: every parameter has a separate random generator.
    What to expect: if two arms of a study have a parameter of the same name and shape, the
        parameter has the same initial values in both.

    The generator depends on the seed and on the parameter's name.
    """

    def __call__(self, model: Model, tokenizers: Tokenizers, seed: int) -> None:
        """Initialise every parameter in place."""
        initialise(model, seed)


@runtime_checkable
class DrawsItsOwn(Protocol):
    """A module that draws the initial values of its own parameters."""

    def draw_initial_values(self, parameter: Tensor, generator: torch.Generator | None) -> None:
        """Initialise `parameter`, a parameter of this module, in place, using only `generator`."""


@runtime_checkable
class AdjustsInitialValues(Protocol):
    """A module that changes the initial values of its parameters after all parameters are drawn."""

    def adjust_initial_values(self) -> None:
        """Change the initial values of the module's parameters in place, such as their scale."""


def initialise(model: nn.Module, seed: int) -> None:
    """Initialise every parameter in place: matrices Xavier uniform, biases 0, gains 1.

    Each parameter has a separate random generator, which depends on the seed and the parameter's
    name, so arms of a study have the same initial values for every parameter of the same name and
    shape. A module with a method `draw_initial_values` draws its own parameters. A parameter with
    several names uses the first name.
    """
    for path, module in model.named_modules():
        for name, parameter in module.named_parameters(prefix=path, recurse=False):
            generator = torch.Generator(parameter.device).manual_seed(stream(seed, name))
            with torch.no_grad():
                fill(module, name, parameter, generator)
    adjust(model)


@torch.no_grad()
def adjust(model: nn.Module, without: type[nn.Module] | tuple[()] = ()) -> None:
    """Call `adjust_initial_values` of every module that has this method, except modules of the
    type `without`.
    """
    for module in model.modules():
        if isinstance(module, AdjustsInitialValues) and not isinstance(module, without):
            module.adjust_initial_values()


def fill(module: nn.Module, name: str, parameter: Tensor, generator: torch.Generator) -> None:
    """Initialise one parameter of a module in place; `name` is its name in the model."""
    if isinstance(module, DrawsItsOwn):
        module.draw_initial_values(parameter, generator)
    elif parameter.dim() > 1:
        nn.init.xavier_uniform_(parameter, generator=generator)
    else:
        parameter.fill_(0.0 if name.endswith("bias") else 1.0)
