"""Use a model outside of Lightning's trainer in the precision of its run.

A test of a run, `ablate evaluate`, `translate` and `generate` must compute the same numbers, so
they use the plug-in that the trainer chooses for `trainer.precision`.
"""

import torch
from pytorch_lightning.plugins.precision import (
    DoublePrecision,
    HalfPrecision,
    MixedPrecision,
    Precision,
)


def precision_plugin(precision: str, device: str | torch.device) -> Precision:
    """Return Lightning's plug-in for a resolved `trainer.precision`.

    The method `convert_module` gives a model the types of the run, and `forward_context` returns
    the context in which the trainer calls the model.
    """
    match precision:
        case "16-mixed" | "bf16-mixed":
            return MixedPrecision(precision, torch.device(device).type)
        case "16-true" | "bf16-true":
            return HalfPrecision(precision)
        case "64-true":
            return DoublePrecision()
        case _:
            return Precision()
