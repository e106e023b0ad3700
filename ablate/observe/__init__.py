"""Callbacks that measure layers in training: norms of gradients, and inputs of sub-layers."""

import math
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, NamedTuple

import pytorch_lightning as pl
import torch
from jaxtyping import Float
from lightning_fabric.utilities import move_data_to_device
from pytorch_lightning.callbacks import Callback
from pytorch_lightning.trainer.states import TrainerFn
from torch import Tensor, nn

from ablate.model import Model
from ablate.model.residual import Apply, Residual


class LayerGradients(Callback):
    """Measure the gradient norm of every layer at the first and at the last optimiser step.

    A callback that computes the norm of the gradient at each training step.

    Equation: |g_l| = sqrt(sum over the parameters w of layer l of |dL/dw|^2), before clipping; the
        ratio of a stack is the largest norm of a layer divided by the smallest.
    Source: arXiv:2002.04745, section 3 and figure 3: at initialisation the gradients of Post-LN
        grow towards the last layer, those of Pre-LN do not.
    What differs: the source takes the expectation over many batches; this uses the first batch of
        the run.
    What to expect: at the first step a ratio above 1 for deep Post-LN, about 1 for Pre-LN.

    It keeps the norms of the parameters at the first and at the latest step, from which it computes
    the norm of every layer.
    """

    def __init__(self) -> None:
        self.layers: dict[str, list[nn.Parameter]] = {}
        self.parameters: list[nn.Parameter] = []  # all parameters of the module
        self.total = torch.zeros(())  # the norm of the whole gradient at the latest step
        self.first: dict[str, Tensor] = {}
        self.norms: dict[nn.Parameter, Tensor] = {}  # of the gradients at the latest step
        self._last: dict[str, Tensor] = {}  # from a checkpoint

    @property
    def last(self) -> dict[str, Tensor]:
        """The gradient norm of each layer at the latest step."""
        return gradient_norms_by_layer(self.layers, self.norms) or self._last

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Store the parameters of each layer, so that they are collected only once."""
        self.layers = dict(pl_module.model.layers())  # type: ignore[operator, union-attr]
        self.parameters = list(pl_module.parameters())

    def on_before_optimizer_step(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, optimizer: torch.optim.Optimizer
    ) -> None:
        """Compute the gradient norms of the whole model and of each parameter.

        The norms stay on the device, so that this callback does not wait for the GPU. In
        `16-mixed` precision, Lightning leaves the gradients of a fused optimiser multiplied by the
        scale of the loss. This method unscales them first.
        """
        scaler = getattr(trainer.precision_plugin, "scaler", None)
        if scaler is not None and getattr(optimizer, "_step_supports_amp_scaling", False):
            scaler.unscale_(optimizer)
        self.norms = parameter_norms(self.parameters)
        self.total = total_norm(self.norms.values())
        self.first = self.first or self.last

    def metrics(self) -> dict[str, float]:
        """Return the gradient norms of all layers, and the ratio of each stack, by name.

        Values that are not finite, as at the last step of a diverged run, are left out.

        Returns:
            gradient/first/encoder.0, and similar names: the norm of a layer, at the first or the
                last step.
            gradient/first/encoder_ratio, and similar names: the largest norm of a layer in a stack
                divided by the smallest.
        """
        metrics: dict[str, float] = {}
        for when, norms in (("first", self.first), ("last", self.last)):
            values = {layer: float(norm) for layer, norm in norms.items()}
            every = {**values, **ratios(values)}
            metrics |= {f"gradient/{when}/{name}": value for name, value in every.items()}
        return {name: value for name, value in metrics.items() if math.isfinite(value)}

    def state_dict(self) -> dict[str, dict[str, Tensor]]:
        """Return the gradient norms of the first and the latest step, for a checkpoint.

        With these norms, a resumed run still reports the norms of its first step.
        """
        return {"first": self.first, "last": self.last}

    def load_state_dict(self, state_dict: dict[str, dict[str, Tensor]]) -> None:
        """Restore the gradient norms of the first and the latest step from a checkpoint."""
        self.first, self._last = state_dict["first"], state_dict["last"]


def parameter_norms(parameters: Iterable[nn.Parameter]) -> dict[nn.Parameter, Tensor]:
    """Return the L2 norm of the gradient of each parameter that has a gradient."""
    gradients = {p: p.grad for p in parameters if p.grad is not None}
    norms = torch._foreach_norm(list(gradients.values())) if gradients else ()
    return dict(zip(gradients, norms, strict=True))


def total_norm(norms: Iterable[Tensor]) -> Tensor:
    """Return the L2 norm of several gradients together, given their norms; 0 without gradients."""
    parts = list(norms)
    return torch.linalg.vector_norm(torch.stack(parts)) if parts else torch.zeros(())


def gradient_norms_by_layer(
    layers: dict[str, list[nn.Parameter]], norms: Mapping[nn.Parameter, Tensor]
) -> dict[str, Tensor]:
    """Return the L2 norm of each layer's gradient, given the norms of all parameters.

    Layers without gradients are left out.
    """
    parts = {layer: [norms[p] for p in ps if p in norms] for layer, ps in layers.items()}
    return {layer: total_norm(parameters) for layer, parameters in parts.items() if parameters}


def ratios(norms: dict[str, float]) -> dict[str, float]:
    """Return, for each stack, the largest gradient norm of a layer divided by the smallest.

    Keys of `norms` are names of layers, such as "encoder.0"; keys of the result are names such as
    "encoder_ratio". A stack in which a norm is 0 is left out.
    """
    by_stack: dict[str, float] = {}
    for stack in dict.fromkeys(layer.partition(".")[0] for layer in norms):
        of_stack = [norm for layer, norm in norms.items() if layer.startswith(f"{stack}.")]
        if min(of_stack) > 0:
            by_stack[f"{stack}_ratio"] = max(of_stack) / min(of_stack)
    return by_stack


# index of the sub-layer, stream, sub-layer, mask of real tokens
Given = tuple[int, Any, Apply, Tensor]
SENTENCES = 64  # the first sentences of validation, independent of batches
NAMES = ("residual/added_most", "residual/added_least", "residual/drift")
LEAST = 1e-12  # minimum variance, for channels that are constant


class Reading(NamedTuple):
    """Measure sub-layers: the relative norm of their outputs, and the drift of their inputs.

    The input `read`, the output `given` and the residual stream `stream` of one sub-layer.

    Equation: for each sub-layer, the median over tokens of |y| / |x|, where y is the output before
        dropout and x the residual stream to which y is added. Also the drift of each input channel
        between two validations, as Bhattacharyya's distance between two normal distributions: (m' -
        m)^2 / 4 (v' + v) + ln((v' + v) / 2 sqrt(v' v)) / 2, where m is the mean and v the variance
        over tokens.
    Source: residual sums: arXiv:1512.03385, section 3.1; covariate shift: arXiv:1502.03167, section
        1.
    What differs: the same validation sentences are used every time, without dropout. The drift is
        averaged over channels, sub-layers and pairs of successive validations. If the residual
        connection has two streams, x is the normalised stream.
    What to expect: in Post-LN the stream has constant norm, in Pre-LN it grows with depth. Scaling
        a channel does not change its drift.

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
    note = partial(record_sublayer, readings=readings)
    residuals = (part for part in model.modules() if isinstance(part, Residual))
    hooks = [part.register_forward_pre_hook(note) for part in residuals]
    training = model.training
    try:
        model.eval()(inputs)
    finally:
        model.train(training)
        for hook in hooks:
            hook.remove()
    return readings


def record_sublayer(residual: nn.Module, given: Given, *, readings: list[Reading]) -> Given:
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
