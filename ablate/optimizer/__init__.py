"""Optimisers that treat parameters by role (matrices, embeddings, norms or biases), and schedules
of their learning rate.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.utils.parametrize import ParametrizationList

from ablate.config.limits import OneOf, Range
from ablate.errors import UserError
from ablate.model.embedding import Embedding
from ablate.model.head import Head, LinearHead
from ablate.model.parametrisation import FanIn, parametrisation_of

Role = Annotated[str, OneOf(("matrices", "embeddings", "norms", "biases"))]
GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


class Trainable(NamedTuple):
    """A trainable parameter, with its role and the factor of its learning rate.

    `role` is "matrices" (of hidden linear maps and of their low-rank updates), "embeddings" (of
    tokens and positions, other tables of vectors, and the output projection), "norms" (gains and
    other scalars) or "biases".
    `parts` is the number of linear maps that are stacked in the matrix, such as 3 for queries, keys
    and values. `rate` multiplies the learning rate.
    """

    parameter: nn.Parameter
    role: str
    parts: int = 1
    rate: float = 1.0


def trainables(module: nn.Module) -> list[Trainable]:
    """Return the trainable parameters of a module with their roles, in the module's order."""
    tables = {id(parameter) for parameter in _of_tables(module)}
    maps = {id(p): parts for part in module.modules() for p, parts in _of_maps(part)}
    fan_in = _fan_in(module)
    parametrisation = parametrisation_of(module)

    def describe(name: str, parameter: nn.Parameter) -> Trainable:
        role = "embeddings"
        if parameter.dim() < 2:
            biased = name.rpartition(".")[2].startswith("bias") or name.endswith("bias")
            role = "biases" if biased else "norms"
        elif id(parameter) in maps and id(parameter) not in tables:
            role = "matrices"
        if role != "matrices":
            return Trainable(parameter, role, rate=parametrisation.rate(role))
        rates = {
            FanIn.WIDTH: parametrisation.rate(role),
            FanIn.HEAD: parametrisation.head_rate,
            FanIn.FIXED: 1.0,
        }
        rate = rates[fan_in.get(id(parameter), FanIn.WIDTH)]
        return Trainable(parameter, role, maps[id(parameter)], rate)

    return [describe(name, p) for name, p in module.named_parameters() if p.requires_grad]


def _fan_in(module: nn.Module) -> dict[int, FanIn]:
    """Return a dictionary from id(parameter) to how its number of inputs grows with the model, for
    the parameters that a module lists in its attribute `fan_in`.
    """
    declared: dict[int, FanIn] = {}
    for part in module.modules():  # inner modules come later, and have the last word
        for name, inputs in getattr(part, "fan_in", {}).items():
            named = getattr(part, name)
            matrices = [named] if isinstance(named, Tensor) else named.parameters()
            declared |= dict.fromkeys(map(id, matrices), inputs)
    return declared


def _of_tables(module: nn.Module) -> Iterator[Tensor]:
    """Yield the parameters that embed tokens or compute logits."""
    for part in module.modules():
        if isinstance(part, Embedding | Head | nn.Embedding):
            yield from part.parameters()
        if isinstance(part, LinearHead):
            yield part.weight()


def _of_maps(part: nn.Module) -> list[tuple[Tensor, int]]:
    """Return the matrices of the linear maps of a module without its parts, and the number of
    linear maps that are stacked in each matrix.
    """
    if isinstance(part, nn.RNNBase):
        matrices = (p for p in part.parameters(recurse=False) if p.dim() == 2)
        return [(matrix, GATES[part.mode]) for matrix in matrices]
    if isinstance(part, nn.MultiheadAttention) and part.in_proj_weight is not None:
        return [(part.in_proj_weight, 3)]
    if isinstance(part, ParametrizationList):  # of a weight that is computed from others
        return [(p, 1) for p in part.parameters()]
    return [(part.weight, int(getattr(part, "parts", 1)))] if isinstance(part, nn.Linear) else []


Factory = Callable[..., torch.optim.Optimizer]


class ByRole(torch.optim.Optimizer):
    """An optimiser that treats parameters by role; built from a module, as `optimizer(module)`.

    Optimisers of torch are built from the parameters alone.
    """

    by_role = True


def make_optimizer(factory: Factory, module: nn.Module) -> torch.optim.Optimizer:
    """Return the optimiser of the trainable parameters of a module.

    Raises:
        UserError: no parameter is trainable, or the optimiser has a single learning rate although
            the model's parametrisation (muP) requires different learning rates.
    """
    by_role = getattr(getattr(factory, "func", factory), "by_role", False)
    if not by_role:
        check_one_rate(module, "this optimizer")
    return factory(module if by_role else (p for p in module.parameters() if p.requires_grad))


def check_one_rate(module: nn.Module, optimizer: str) -> None:
    """Raise UserError if the model's parametrisation requires different learning rates.

    `optimizer` is the name, for the message, of an optimiser with a single learning rate.
    """
    if parametrisation_of(module).rates_by_role:
        raise UserError(
            f"{optimizer} has one learning rate for all parameters, but model/parametrisation "
            "sets a different one for each role of a parameter: choose optimizer=adamw_by_role, or "
            "model/parametrisation=standard"
        )


def decay_groups(
    parameters: Sequence[Trainable], decayed: Sequence[str], weight_decay: float, lr: float
) -> list[dict[str, object]]:
    """Return parameter groups for torch, one for each learning rate, with and without weight decay.

    Groups with weight decay come first.

    Args:
        parameters: the parameters with their roles.
        decayed: the roles with weight decay.
        weight_decay: the weight decay of these roles.
        lr: the learning rate before the factor of a parameter's role.
    """
    groups: dict[tuple[bool, float], list[nn.Parameter]] = {}
    for p in sorted(parameters, key=lambda p: p.role not in decayed):
        groups.setdefault((p.role in decayed, p.rate), []).append(p.parameter)
    return [
        {"params": params, "weight_decay": weight_decay if decays else 0.0, "lr": lr * rate}
        for (decays, rate), params in groups.items()
    ]


class AdamW(ByRole, torch.optim.AdamW):
    """AdamW with weight decay only for some roles of parameters, such as matrices but not biases.

    AdamW with weight decay only for some roles of parameters.

    Equation: AdamW, with weight decay for parameters of the roles in `decayed`, and none for
        others. The learning rate of a role is `lr` times the factor of model/parametrisation.
    Source: arXiv:1711.05101 (AdamW). It is customary not to decay norms, biases and embeddings; on
        embeddings see arXiv:2501.00656.
    What differs: nothing; torch's AdamW makes the steps. `optimizer=adamw` decays all parameters.
    What to expect: nearly the same loss; gains and embeddings do not shrink.

    Args:
        module: module whose parameters are trained.
        lr: peak learning rate.
        betas: decay rates of the moving averages of the gradient and of its square.
        eps: small constant added to the root of the average squared gradient, by which a step is
            divided.
        weight_decay: weight decay; each step subtracts learning rate * weight_decay * weight.
        decayed: roles of parameters with weight decay: any of matrices, embeddings, norms and
            biases.
        fused: true: use PyTorch's fused kernel, which updates all parameters at once.
    """

    def __init__(
        self,
        module: nn.Module,
        *,
        lr: Annotated[float, Range(0)],
        betas: list[float],
        eps: Annotated[float, Range(0)],
        weight_decay: Annotated[float, Range(0)],
        decayed: list[Role],
        fused: bool,
    ) -> None:
        groups = decay_groups(trainables(module), decayed, weight_decay, lr)
        first, second = betas
        super().__init__(groups, lr=lr, betas=(first, second), eps=eps, fused=fused)


class Schedule(ABC):
    """Maps the number of an optimiser step (1, 2, ...) to a fraction of the peak learning rate."""

    @abstractmethod
    def __call__(self, step: int) -> float:
        """Return the learning rate at `step` as a fraction of the peak learning rate, 0 to 1."""


class Constant(Schedule):
    """A constant learning rate: the peak learning rate from the first step to the last.

    A constant schedule, whose factor is 1 at every step.

    Equation: factor(s) = 1.
    Source: none; it is a control for the schedule of arXiv:1706.03762, section 5.3.
    What differs: no warm-up and no decay.
    What to expect: noisier final weights than with a decay from the same peak learning rate.
    """

    def __call__(self, step: int) -> float:
        """Return 1."""
        return 1.0


class InverseSqrt(Schedule):
    """Inverse square root decay, with a linear warm-up ("Noam") or without.

    A linear warm-up, a constant phase until `decay_from`, then a decay as 1 / sqrt(step).

    Equation: factor(s) = min(s / warmup, sqrt(decay_from / s), 1); without warm-up the first term
        is 1.
    Source: arXiv:1706.03762, section 5.3, equation 3.
    What differs: the peak is set explicitly by `optimizer.lr`, whereas the paper derives it from
        d_model and the warm-up. So a run without warm-up has the same peak and decay.
    What to expect: Post-LN stacks need the warm-up (arXiv:2002.04745), Pre-LN stacks do not.

    Raises:
        UserError: 0 <= `warmup` <= `decay_from` does not hold, or `decay_from` is below 1.
    """

    def __init__(self, *, warmup: int, decay_from: int) -> None:
        if warmup < 0 or decay_from < 1 or warmup > decay_from:
            raise UserError(
                f"schedule.warmup={warmup} with schedule.decay_from={decay_from}: "
                "allowed is 0 <= warmup <= decay_from and decay_from >= 1 (see budget.warmup)"
            )
        self.warmup = warmup
        self.decay_from = decay_from

    def __call__(self, step: int) -> float:
        """Return the learning rate at `step` as a fraction of the peak."""
        ramp = step / self.warmup if self.warmup else 1.0
        return float(min(ramp, (self.decay_from / step) ** 0.5, 1.0))


class Cosine(Schedule):
    """A decay along half a cosine period, after a linear warm-up.

    A linear warm-up, then a decay along half a cosine period over the remaining steps.

    Equation: factor(s) = s / warmup up to warmup, then final + (1 - final) (1 + cos(pi t)) / 2 with
        t = (s - warmup) / (steps - warmup).
    Source: arXiv:1608.03983, section 3, equation 5, with one period and no restarts.
    What differs: a warm-up comes before the decay. With final = 0, the factor of the last step is
        0, so this step trains nothing, and steps - 1 steps train.
    What to expect: close to inverse square root decay with the same peak learning rate; most of the
        advantage comes from the last steps.

    Args:
        warmup: number of steps in which the learning rate rises linearly to its peak.
        steps: number of steps of the whole training.
        final: learning rate at the end, as a fraction of the peak.

    Raises:
        UserError: `warmup` is negative or not below `steps`.
    """

    def __init__(
        self, *, warmup: int, steps: int, final: Annotated[float, Range(0, 1)] = 0.0
    ) -> None:
        if not 0 <= warmup < steps:
            raise UserError(
                f"schedule.warmup={warmup} with schedule.steps={steps}: "
                "allowed is 0 <= warmup < steps (see budget.warmup and budget.steps)"
            )
        self.warmup = warmup
        self.steps = steps
        self.final = final

    def __call__(self, step: int) -> float:
        """Return the learning rate at `step` as a fraction of the peak.

        After the last step, the fraction is `final`.
        """
        if step < self.warmup:
            return step / self.warmup
        done = min(1.0, (step - self.warmup) / (self.steps - self.warmup))
        return self.final + (1.0 - self.final) * 0.5 * (1.0 + math.cos(math.pi * done))


class WarmupStableDecay(Schedule):
    """Warm-up, a stable phase at the peak learning rate, and a linear decay (WSD).

    A linear warm-up, a phase at the peak, and a linear decay to zero at the last step.

    Equation: factor(s) = s / warmup up to warmup, then 1, and (steps - s) / (decay * steps) in the
        last phase, whose length is the fraction `decay` of all steps.
    Source: arXiv:2404.06395, section 4.2 (MiniCPM), where the decay is exponential.
        arXiv:2405.18392, section 3, finds a linear decay over a fifth of the steps best.
    What differs: the decay is linear. The factor of the last step is 0, so this step trains
        nothing, and steps - 1 steps train.
    What to expect: as good as cosine decay at the last step. Runs of different length are the same
        before the decay, so their first steps need to be trained only once.

    Args:
        warmup: number of steps in which the learning rate rises linearly to its peak.
        steps: number of steps of the whole training.
        decay: fraction of all steps, at the end, in which the learning rate falls to 0.

    Raises:
        UserError: the decay would begin before the warm-up has ended.
    """

    def __init__(
        self, *, warmup: int, steps: int, decay: Annotated[float, Range(0, 1, above=True)]
    ) -> None:
        self.warmup, self.steps = warmup, steps
        self.falling = decay * steps
        if not 0 <= warmup <= steps - self.falling:
            raise UserError(
                f"schedule.warmup={warmup} with schedule.steps={steps} and schedule.decay={decay}: "
                f"allowed is 0 <= warmup <= {steps - self.falling:g}, where the decay begins (see "
                "budget.warmup and budget.steps)"
            )

    def __call__(self, step: int) -> float:
        """Return the learning rate at `step` as a fraction of the peak; 0 after the last step."""
        ramp = step / self.warmup if self.warmup else 1.0
        return float(max(0.0, min(ramp, 1.0, (self.steps - step) / self.falling)))
