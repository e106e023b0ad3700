"""Find the output projections of a model: the matrices that write into the residual stream."""

from collections.abc import Iterator

from torch import Tensor

from ablate.errors import UserError
from ablate.model.base import Model
from ablate.model.projections.base import Identity
from ablate.model.residual.base import Residual
from ablate.model.stack import Stack

ENDS = ("output.weight", "outer.weight")  # suffixes of the names of output projections


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


def check_output_projections(model: Model, level: str) -> None:
    """Raise UserError if a model, or its attention alone, has no output projections.

    `level` is the option of `initial` that needs them; it is used in the message.
    """
    modules = model.named_modules()
    if any(name.endswith("output") and isinstance(part, Identity) for name, part in modules):
        raise UserError(
            f"initial={level} changes the output projections of sub-layers, but attention has none "
            "with model.projections.output=identity: set it to learned, or choose initial=seeded"
        )
    if not any(True for _ in output_projections(model)):
        raise UserError(
            f"initial={level} changes the output projections of sub-layers, but this "
            f"{type(model).__name__} has none: choose another model, or initial=seeded"
        )


def check_depth_rule(model: Model, level: str) -> None:
    """Raise UserError if the residual connections already scale initial values with depth.

    `level` is the option of `initial` that would scale them a second time; it is used in the
    message.
    """
    for residual in model.modules():
        if isinstance(residual, Residual) and type(residual).gain is not Residual.gain:
            raise UserError(
                f"initial={level} makes output projections smaller by the depth, and so does "
                f"model/residual ({type(residual).__name__}): choose initial=seeded or "
                "initial=normal, or another model/residual"
            )
