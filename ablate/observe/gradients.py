"""Measure the gradient norm of every layer at the first and at the last optimiser step.

Equation: |g_l| = sqrt(sum over the parameters w of layer l of |dL/dw|^2), before clipping; the
    ratio of a stack is the largest norm of a layer divided by the smallest.
Source: arXiv:2002.04745, section 3 and figure 3: at initialisation the gradients of Post-LN grow
    towards the last layer, those of Pre-LN do not.
What differs: the source takes the expectation over many batches; this uses the first batch of the
    run.
What to expect: at the first step a ratio above 1 for deep Post-LN, about 1 for Pre-LN.
"""

import math
from collections.abc import Iterable, Mapping

import pytorch_lightning as pl
import torch
from pytorch_lightning.callbacks import Callback
from torch import Tensor, nn


class LayerGradients(Callback):
    """A callback that computes the norm of the gradient at each training step.

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

    @last.setter
    def last(self, norms: dict[str, Tensor]) -> None:
        self._last = norms

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
        self.first, self.last = state_dict["first"], state_dict["last"]


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
