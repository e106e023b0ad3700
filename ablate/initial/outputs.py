"""Find the output projections of a model: the matrices that write into the residual stream."""

from abc import abstractmethod
from collections.abc import Iterator
from typing import ClassVar

import torch
from torch import Tensor

from ablate.data.tokenizer import Tokenizers
from ablate.errors import UserError
from ablate.initial.base import Initial
from ablate.model.base import Model
from ablate.model.projections import Identity
from ablate.model.residual import Residual
from ablate.model.stack import Stack

ENDS = ("output.weight", "outer.weight")  # suffixes of the names of output projections


class ChangedOutputs(Initial):
    """Changes the output projections after another option has drawn the initial values.

    Args:
        of: the option of `initial` that draws all initial values.
    """

    name: ClassVar[str]  # of the option of `initial`, for messages

    def __init__(self, *, of: Initial) -> None:
        self.of = of

    def check(self, model: Model) -> None:
        """Raise UserError if a model, or its attention alone, has no output projections."""
        self.of.check(model)
        modules = model.named_modules()
        if any(name.endswith("output") and isinstance(part, Identity) for name, part in modules):
            raise UserError(
                f"initial={self.name} changes the output projections of sub-layers, but attention "
                "has none with model.projections.output=identity: set it to learned, or choose "
                "initial=seeded"
            )
        if not any(True for _ in output_projections(model)):
            raise UserError(
                f"initial={self.name} changes the output projections of sub-layers, but this "
                f"{type(model).__name__} has none: choose another model, or initial=seeded"
            )

    @torch.no_grad()
    def __call__(self, model: Model, tokenizers: Tokenizers, seed: int) -> None:
        """Initialise every parameter in place."""
        self.check(model)
        self.of(model, tokenizers, seed)
        for matrix, sublayers in output_projections(model):
            self.change(matrix, sublayers)

    @abstractmethod
    def change(self, matrix: Tensor, sublayers: int) -> None:
        """Change an output projection in place; its stack has `sublayers` sub-layers."""

    def fingerprint(self) -> str:
        """Return the hash of the files that the option `of` reads; "" if it reads no files."""
        return self.of.fingerprint()


def output_projections(model: Model) -> Iterator[tuple[Tensor, int]]:
    """Yield the output projection of every sub-layer, and the depth of the sub-layer's stack.

    The depth is the number of sub-layers in the stack. A sub-layer whose weights are shared counts
    each time it is used, but its projection is yielded once.
    """
    for stack in model.modules():
        if isinstance(stack, Stack):
            named = stack.layers.named_parameters()
            for matrix in {parameter for name, parameter in named if name.endswith(ENDS)}:
                yield matrix, len(stack.sublayers)


def residuals(model: Model) -> Iterator[Residual]:
    """Yield the residual connections of each stack of a model."""
    yield from (part for part in model.modules() if isinstance(part, Residual))


def check_depth_rule(model: Model, level: str) -> None:
    """Raise UserError if the residual connections already scale initial values with depth.

    `level` is the option of `initial` that would scale them a second time; it is used in the
    message.
    """
    for residual in residuals(model):
        if type(residual).gain is not Residual.gain:
            raise UserError(
                f"initial={level} makes output projections smaller by the depth, and so does "
                f"model/residual ({type(residual).__name__}): choose initial=seeded or "
                "initial=normal, or another model/residual"
            )
