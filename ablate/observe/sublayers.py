"""What sub-layers read and what they add: how long, and how it moves while the model trains.

Equation: of a sub-layer, the median over tokens of |y| / |x|, y what it gives before dropout and x
    the stream that it is added to; and the drift of each channel that it reads, from one validation
    to the next, Bhattacharyya's distance of two normal distributions:
    (m' - m)^2 / 4 (v' + v) + ln((v' + v) / 2 sqrt(v' v)) / 2, m mean and v variance over tokens.
Source: what is added: arXiv:1512.03385, section 3.1; covariate shift: arXiv:1502.03167, section 1.
What differs: the same sentences of validation each time, without dropout; the mean of the drift is
    over channels, sub-layers and pairs of validations. Of two streams x is the normalised one.
What to expect: in Post-LN the stream has one length everywhere, in Pre-LN it grows with depth. A
    common factor of a channel does not change its drift.
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
from ablate.model.residual.base import Apply, Residual
from ablate.observe.heads import SENTENCES

Given = tuple[int, Any, Apply, Tensor]  # number of the sub-layer, stream, sub-layer, real tokens
NAMES = ("residual/added_most", "residual/added_least", "residual/drift")
LEAST = 1e-12  # of a variance, that of a channel which says nothing


class Reading(NamedTuple):
    """What one sub-layer reads of all real tokens, what it gives, and to what that is added."""

    read: Float[Tensor, "N D"]
    given: Float[Tensor, "N D"]
    stream: Float[Tensor, "N D"]


class Sublayers(Callback):
    """Looks at a few sentences at every validation."""

    def __init__(self) -> None:
        self.moments: Tensor | None = None
        self.drifts: list[float] = []
        self.added: list[float] = []

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Compare what is read with what was read at the validation before."""
        if trainer.state.fn != TrainerFn.FITTING:
            return
        data: Any = pl_module.data
        batch = data.first_lines("validation", SENTENCES)
        model: Any = pl_module.model
        readings = read(model, move_data_to_device(batch.inputs, pl_module.device))
        if not readings:
            return
        moments = torch.stack([moments_of(one.read) for one in readings])
        if self.moments is not None:
            self.drifts.append(float(drift(self.moments.to(moments), moments).mean()))
        self.moments = moments
        self.added = [float(ratio(one).median()) for one in readings]

    def metrics(self) -> dict[str, float]:
        """Return what was seen by name, what is finite of it; {} of a model without sub-layers."""
        found = {}
        if self.added:
            most, least, _ = NAMES
            found = {most: max(self.added), least: min(self.added)}
        if self.drifts:
            found[NAMES[2]] = sum(self.drifts) / len(self.drifts)
        return {name: value for name, value in found.items() if math.isfinite(value)}

    def state_dict(self) -> dict[str, object]:
        """Return what was seen, so that a run that goes on later remembers it."""
        return {"moments": self.moments, "drifts": self.drifts, "added": self.added}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take up what an earlier process saw."""
        self.moments, self.drifts = state_dict["moments"], state_dict["drifts"]
        self.added = state_dict["added"]


@torch.no_grad()
def read(model: Model, inputs: Any) -> list[Reading]:
    """Return the readings of all sub-layers in the order in which they act."""
    found: list[Reading] = []
    training = model.training
    try:
        with listening(model, found):
            model.eval()(inputs)
    finally:
        model.train(training)
    return found


@contextmanager
def listening(model: Model, readings: list[Reading]) -> Iterator[None]:
    """Let every residual of a model note what each sub-layer reads and gives."""
    note = partial(noting, readings=readings)
    with ExitStack() as hooks:
        for part in model.modules():
            if isinstance(part, Residual):
                hooks.callback(part.register_forward_pre_hook(note).remove)
        yield


def noting(residual: nn.Module, given: Given, *, readings: list[Reading]) -> Given:
    """Return what a residual is given, with a sub-layer that notes what it reads and gives."""
    i, stream, sublayer, real = given
    past = stream[0] if isinstance(stream, tuple) else stream

    def apply(x: Tensor) -> Tensor:
        y = sublayer(x)
        readings.append(Reading(*(tokens[real].float() for tokens in (x, y, past))))
        return y

    return i, stream, apply, real


def ratio(one: Reading) -> Float[Tensor, " N"]:
    """Return the length of what is added over that of what it is added to, of every token."""
    return one.given.norm(dim=1) / one.stream.norm(dim=1)


def moments_of(x: Float[Tensor, "N D"]) -> Float[Tensor, "2 D"]:
    """Return mean and variance of each channel over all tokens."""
    var, mean = torch.var_mean(x, 0, correction=0)
    return torch.stack([mean, var.clamp(min=LEAST)])


def drift(before: Float[Tensor, "*S 2 D"], after: Float[Tensor, "*S 2 D"]) -> Float[Tensor, "*S D"]:
    """Return Bhattacharyya's distance between two normal distributions of each channel."""
    (mean, var), (later, wider) = before.unbind(-2), after.unbind(-2)
    both = var + wider
    return (later - mean).square() / (4 * both) + (both / (2 * (var * wider).sqrt())).log() / 2
