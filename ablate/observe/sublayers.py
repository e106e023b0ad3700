"""Measure sub-layers: the relative norm of their outputs, and the drift of their inputs.

Equation: for each sub-layer, the median over tokens of |y| / |x|, where y is the output before
    dropout and x the residual stream to which y is added. Also the drift of each input channel
    between two validations, as Bhattacharyya's distance between two normal distributions: (m' -
    m)^2 / 4 (v' + v) + ln((v' + v) / 2 sqrt(v' v)) / 2, where m is the mean and v the variance over
    tokens.
Source: residual sums: arXiv:1512.03385, section 3.1; covariate shift: arXiv:1502.03167, section 1.
What differs: the same validation sentences are used every time, without dropout. The drift is
    averaged over channels, sub-layers and pairs of successive validations. If the residual
    connection has two streams, x is the normalised stream.
What to expect: in Post-LN the stream has constant norm, in Pre-LN it grows with depth. Scaling a
    channel does not change its drift.
"""

import math
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any, NamedTuple

import pytorch_lightning as pl
import torch
from jaxtyping import Float
from lightning_fabric.utilities import move_data_to_device
from pytorch_lightning.callbacks import Callback
from pytorch_lightning.trainer.states import TrainerFn
from torch import Tensor, nn

from ablate.model.base import Model
from ablate.model.residual import Apply, Residual

# index of the sub-layer, stream, sub-layer, mask of real tokens
Given = tuple[int, Any, Apply, Tensor]
SENTENCES = 64  # the first sentences of validation, independent of batches
NAMES = ("residual/added_most", "residual/added_least", "residual/drift")
LEAST = 1e-12  # minimum variance, for channels that are constant


class Reading(NamedTuple):
    """The input `read`, the output `given` and the residual stream `stream` of one sub-layer.

    Each has a row for every token except padding.
    """

    read: Float[Tensor, "N D"]
    given: Float[Tensor, "N D"]
    stream: Float[Tensor, "N D"]


class Sublayers(Callback):
    """A callback that measures all sub-layers at every validation during training.

    It measures the relative norm of a sub-layer's output, and the drift of its inputs.
    """

    def __init__(self) -> None:
        self.moments: Tensor | None = None
        self.drifts: list[float] = []
        self.added: list[float] = []

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Measure the sub-layers on some validation sentences.

        The measurements are the norm of each output relative to the residual stream, and the drift
        of each input's distribution since the previous validation.
        """
        if trainer.state.fn != TrainerFn.FITTING:
            return
        data: Any = pl_module.data
        batch = data.first_lines("validation", SENTENCES)
        model: Any = pl_module.model
        readings = read(model, move_data_to_device(batch.inputs, pl_module.device))
        if not readings:
            return
        moments = torch.stack([moments_of(reading.read) for reading in readings])
        if self.moments is not None:
            self.drifts.append(float(drift(self.moments.to(moments), moments).mean()))
        self.moments = moments
        self.added = [float(ratio(reading).median()) for reading in readings]

    def metrics(self) -> dict[str, float]:
        """Return the measurements of the sub-layers by name.

        Values that are not finite are left out.

        Returns:
            residual/added_most, residual/added_least: largest and smallest relative norm of the
                output of a sub-layer, at the latest validation.
            residual/drift: mean drift of the inputs between successive validations.
        """
        metrics = {}
        if self.added:
            most, least, _ = NAMES
            metrics = {most: max(self.added), least: min(self.added)}
        if self.drifts:
            metrics[NAMES[2]] = sum(self.drifts) / len(self.drifts)
        return {name: value for name, value in metrics.items() if math.isfinite(value)}

    def state_dict(self) -> dict[str, object]:
        """Return the measurements for a checkpoint, so that a resumed run keeps them."""
        return {"moments": self.moments, "drifts": self.drifts, "added": self.added}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore the measurements of the sub-layers from a checkpoint."""
        self.moments, self.drifts = state_dict["moments"], state_dict["drifts"]
        self.added = state_dict["added"]


@torch.no_grad()
def read(model: Model, inputs: Any) -> list[Reading]:
    """Return input, output and residual stream of each sub-layer, in the order of execution.

    The model runs on `inputs` without dropout.
    """
    readings: list[Reading] = []
    training = model.training
    try:
        with recording(model, readings):
            model.eval()(inputs)
    finally:
        model.train(training)
    return readings


@contextmanager
def recording(model: Model, readings: list[Reading]) -> Iterator[None]:
    """Within a `with` block, record all sub-layers in `readings` whenever the model runs.

    The records are the input, the output and the residual stream of each sub-layer.
    """
    note = partial(noting, readings=readings)
    with ExitStack() as hooks:
        for part in model.modules():
            if isinstance(part, Residual):
                hooks.callback(part.register_forward_pre_hook(note).remove)
        yield


def noting(residual: nn.Module, given: Given, *, readings: list[Reading]) -> Given:
    """Replace the sub-layer in the arguments of a forward method by a recording sub-layer.

    This function is a forward pre-hook of the residual connections. The new sub-layer computes the
    same output. It appends its input, its output and the residual stream to `readings`.

    Args:
        residual: the module on which the hook is registered.
        given: arguments of its forward method: number of the sub-layer, residual stream, sub-layer,
            mask of real tokens.
        readings: the list to which the records are appended.
    """
    i, stream, sublayer, real = given
    past = stream[0] if isinstance(stream, tuple) else stream

    def apply(x: Tensor) -> Tensor:
        y = sublayer(x)
        readings.append(Reading(*(tokens[real].float() for tokens in (x, y, past))))
        return y

    return i, stream, apply, real


def ratio(reading: Reading) -> Float[Tensor, " N"]:
    """Return, for every token, the norm of the output divided by that of the residual stream."""
    return reading.given.norm(dim=1) / reading.stream.norm(dim=1)


def moments_of(x: Float[Tensor, "N D"]) -> Float[Tensor, "2 D"]:
    """Return mean and variance over all tokens for each channel of x.

    Variances below 1e-12 (LEAST) are raised to this value.
    """
    var, mean = torch.var_mean(x, 0, correction=0)
    return torch.stack([mean, var.clamp(min=LEAST)])


def drift(before: Float[Tensor, "*S 2 D"], after: Float[Tensor, "*S 2 D"]) -> Float[Tensor, "*S D"]:
    """Return, for each channel, Bhattacharyya's distance between two normal distributions.

    `before` and `after` have the mean and the variance of each channel, as `moments_of` returns.
    """
    (mean, var), (later, wider) = before.unbind(-2), after.unbind(-2)
    both = var + wider
    return (later - mean).square() / (4 * both) + (both / (2 * (var * wider).sqrt())).log() / 2
