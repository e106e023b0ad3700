"""Muon for hidden matrices, AdamW for all other parameters.

Equation: for an a x b matrix W with gradient G: M = momentum M + (1 - momentum) G; U =
    orthogonalised((1 - momentum) G + momentum M); W = W - lr weight_decay W - lr 0.2 sqrt(max(a,
    b)) U. To orthogonalise a matrix, divide it by its norm, then repeat five times X = 3.4445 X -
    4.7750 (X X^T) X + 2.0315 (X X^T)^2 X. This brings all singular values near 1.
Source: Jordan et al. 2024 (Muon, kellerjordan.github.io/posts/muon); arXiv:2502.16982, section 2.2
    (weight decay, and the factor 0.2 sqrt(max(a, b)), which gives the steps the size of Adam's, so
    that one learning rate suits both).
What differs: torch.optim.Muon takes any matrix. Here AdamW trains embeddings, learned positions,
    the output projection, norms and biases. If a matrix combines several linear maps, each of them
    is orthogonalised separately. On a CPU the steps are in float32, because few processors multiply
    bfloat16.
What to expect: with tuned learning rates, fewer steps to the same loss than AdamW; the larger the
    model, the smaller the gain (arXiv:2509.02046). Each step takes longer: 15 more products for
    every matrix.
"""

from collections.abc import Callable
from typing import Annotated, Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.optim import AdamW

from ablate.config.limits import Count, Range
from ablate.errors import UserError
from ablate.optimizer.adamw import check_roles
from ablate.optimizer.base import Composite, check_one_rate, decay_groups
from ablate.optimizer.roles import Trained, trained

COEFFICIENTS = 3.4445, -4.7750, 2.0315
LEAST = 1e-7  # smallest norm to divide by


class Muon(Composite):
    """An optimiser with orthogonalised steps for hidden matrices, and AdamW for other parameters.

    Args:
        module: module whose parameters are trained.
        lr: peak learning rate of Muon and AdamW.
        momentum: decay rate of Muon's moving average of the gradient.
        steps: number of Newton-Schulz iterations that orthogonalise a step.
        betas: decay rates of AdamW's moving averages of the gradient and of its square.
        eps: small constant that AdamW adds to the root of the average squared gradient.
        weight_decay: weight decay; each step subtracts learning rate * weight_decay * weight.
        decayed: roles of parameters with weight decay: any of matrices, embeddings, norms and
            biases.

    Raises:
        UserError: no hidden matrix is trained, `decayed` contains an unknown role, or the model's
            parametrisation (muP) requires different learning rates.
    """

    def __init__(
        self,
        module: nn.Module,
        *,
        lr: Annotated[float, Range(0)],
        momentum: Annotated[float, Range(0, 1)],
        steps: Count,
        betas: list[float],
        eps: Annotated[float, Range(0)],
        weight_decay: Annotated[float, Range(0)],
        decayed: list[str],
    ) -> None:
        check_roles(decayed)
        check_one_rate(module, "optimizer=muon")
        matrices = [p for p in trained(module) if p.role == "matrices"]
        other_parameters = [p for p in trained(module) if p.role != "matrices"]
        if not matrices:
            raise UserError(
                "optimizer=muon trains hidden matrices, and this run trains none: choose "
                "optimizer=adamw, or let more of the model train (adapt)"
            )
        decay = weight_decay if "matrices" in decayed else 0.0
        parts: list[torch.optim.Optimizer] = [
            Orthogonal(matrices, lr=lr, momentum=momentum, steps=steps, weight_decay=decay)
        ]
        if other_parameters:
            groups = decay_groups(other_parameters, decayed, weight_decay, lr)
            first, second = betas
            parts.append(AdamW(groups, lr=lr, betas=(first, second), eps=eps, fused=True))
        super().__init__(parts)


class Orthogonal(torch.optim.Optimizer):
    """The part of Muon for hidden matrices.

    Parameter groups differ in the number of linear maps that are stacked in a matrix.
    """

    def __init__(
        self,
        matrices: list[Trained],
        *,
        lr: float,
        momentum: float,
        steps: int,
        weight_decay: float,
    ) -> None:
        groups = [
            {"params": [m.parameter for m in matrices if m.parts == parts], "parts": parts}
            for parts in sorted({m.parts for m in matrices})
        ]
        settings = {"momentum": momentum, "steps": steps, "weight_decay": weight_decay}
        super().__init__(groups, {"lr": lr, **settings})

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> None:  # type: ignore[override]
        """Make a step for every matrix that has a gradient."""
        for group in self.param_groups:
            for matrix in group["params"]:
                if matrix.grad is not None:
                    self._change(matrix, group)

    def _change(self, matrix: Float[Tensor, "A B"], group: dict[str, Any]) -> None:
        state, gradient, momentum = self.state[matrix], matrix.grad, group["momentum"]
        assert gradient is not None
        if not state:
            state["average"] = torch.zeros_like(gradient)
        average = state["average"].lerp_(gradient, 1 - momentum)
        ahead = gradient.lerp(average, momentum)
        matrix.mul_(1 - group["lr"] * group["weight_decay"])
        whole = zip(*(x.chunk(group["parts"]) for x in (matrix, ahead)), strict=True)
        for part, update in whole:
            rate = group["lr"] * 0.2 * max(update.shape) ** 0.5
            part.add_(orthogonalised(update, group["steps"]).to(part.dtype), alpha=-rate)


def orthogonalised(matrix: Float[Tensor, "A B"], steps: int) -> Float[Tensor, "A B"]:
    """Return a matrix with the singular vectors of `matrix` and singular values near 1.

    `steps` is the number of iterations.
    """
    a, b, c = COEFFICIENTS
    x = matrix.to(torch.float32 if matrix.device.type == "cpu" else torch.bfloat16)
    tall = x.size(0) > x.size(1)
    x = x.T if tall else x
    x = x / x.norm().clamp(min=LEAST)
    for _ in range(steps):
        gram = x @ x.T
        x = torch.addmm(x, torch.addmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.T if tall else x
