"""Muon: an optimiser of hidden matrices, beside AdamW for all other parameters."""

from collections.abc import Callable, Sequence
from itertools import islice
from typing import Annotated, Any, cast

import torch
from jaxtyping import Float
from torch import Tensor, nn

from ablate.config.limits import Count, Range
from ablate.errors import UserError
from ablate.optimizer import ByRole, Role, Trainable, check_one_rate, decay_groups, trainables


class Composite(ByRole):
    """Several optimisers for different parameters, which act as a single optimiser.

    The inner optimisers use the parameter groups and the state of this object. Therefore a schedule
    acts on all inner optimisers, and the state is saved and loaded as for any optimiser.
    """

    def __init__(self, optimizers: Sequence[torch.optim.Optimizer]) -> None:
        self.optimizers = list(optimizers)
        # whether a tensor `found_inf` of 1 leaves the weights unchanged, as in a fused AdamW
        self._step_supports_amp_scaling = all(
            getattr(part, "_step_supports_amp_scaling", False) for part in optimizers
        )
        super().__init__([group for part in optimizers for group in part.param_groups], {})
        self.defaults = {key: v for part in optimizers for key, v in part.defaults.items()}
        self._share()

    def __setstate__(self, state: dict[str, object]) -> None:
        """Set the state, as after loading, and share it with the inner optimisers."""
        super().__setstate__(state)
        self._share()

    def _share(self) -> None:
        groups = iter(self.param_groups)
        for part in self.optimizers:
            part.param_groups = list(islice(groups, len(part.param_groups)))
            part.state = self.state

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Make a step of every inner optimiser; return the loss that `closure` computes first."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for part in self.optimizers:
            part.found_inf = getattr(self, "found_inf", None)  # type: ignore[attr-defined]
            part.step()
        return loss


COEFFICIENTS = 3.4445, -4.7750, 2.0315
LEAST = 1e-7  # smallest norm to divide by


class Muon(Composite):
    """Muon for hidden matrices, AdamW for all other parameters.

    An optimiser with orthogonalised steps for hidden matrices, and AdamW for other parameters.

    Equation: for an a x b matrix W with gradient G: M = momentum M + (1 - momentum) G; U =
        orthogonalised((1 - momentum) G + momentum M); W = W - lr weight_decay W - lr 0.2
        sqrt(max(a, b)) U. To orthogonalise a matrix, divide it by its norm, then repeat five times
        X = 3.4445 X - 4.7750 (X X^T) X + 2.0315 (X X^T)^2 X. This brings all singular values near
        1.
    Source: Jordan et al. 2024 (Muon, kellerjordan.github.io/posts/muon); arXiv:2502.16982, section
        2.2 (weight decay, and the factor 0.2 sqrt(max(a, b)), which gives the steps the size of
        Adam's, so that one learning rate suits both).
    What differs: torch.optim.Muon takes any matrix. Here AdamW trains embeddings, learned
        positions, the output projection, norms and biases. If a matrix combines several linear
        maps, each of them is orthogonalised separately. On a CPU the steps are in float32, because
        few processors multiply bfloat16.
    What to expect: with tuned learning rates, fewer steps to the same loss than AdamW; the larger
        the model, the smaller the gain (arXiv:2509.02046). Each step takes longer: 15 more products
        for every matrix.

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
        UserError: no hidden matrix is trained, or the model's parametrisation (muP) requires
            different learning rates.
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
        decayed: list[Role],
    ) -> None:
        check_one_rate(module, "optimizer=muon")
        matrices = [p for p in trainables(module) if p.role == "matrices"]
        other_parameters = [p for p in trainables(module) if p.role != "matrices"]
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
            parts.append(
                torch.optim.AdamW(groups, lr=lr, betas=(first, second), eps=eps, fused=True)
            )
        super().__init__(parts)


class Orthogonal(torch.optim.Optimizer):
    """The part of Muon for hidden matrices.

    Parameter groups differ in the number of linear maps that are stacked in a matrix. Matrices of
    the same shape are orthogonalised together, because a GPU multiplies one small matrix as slowly
    as many.
    """

    _step_supports_amp_scaling = True  # if its tensor `found_inf` is 1, no weight changes

    def __init__(
        self,
        matrices: list[Trainable],
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
            matrices = [matrix for matrix in group["params"] if matrix.grad is not None]
            if matrices:
                self._change(matrices, group)

    def _change(self, matrices: list[Tensor], group: dict[str, Any]) -> None:
        gradients, momentum = [cast("Tensor", m.grad) for m in matrices], group["momentum"]
        for matrix in matrices:
            if not self.state[matrix]:
                self.state[matrix]["average"] = torch.zeros_like(matrix)
        averages = [self.state[matrix]["average"] for matrix in matrices]
        torch._foreach_lerp_(averages, gradients, 1 - momentum)
        ahead = torch._foreach_lerp(gradients, averages, momentum)
        failed: Tensor | None = getattr(self, "found_inf", None)
        decay = group["lr"] * group["weight_decay"]
        torch._foreach_mul_(matrices, 1 - (decay if failed is None else decay * (1 - failed)))
        updates = [part for update in ahead for part in update.chunk(group["parts"])]
        parts = [part for matrix in matrices for part in matrix.chunk(group["parts"])]
        for shape in dict.fromkeys(part.shape for part in parts):
            same = [i for i, part in enumerate(parts) if part.shape == shape]
            steps = orthogonalised(torch.stack([updates[i] for i in same]), group["steps"])
            if failed is not None:
                steps = steps.masked_fill(failed > 0, 0.0)
            rate = group["lr"] * 0.2 * max(shape) ** 0.5
            chosen = [parts[i] for i in same]
            torch._foreach_add_(chosen, list(steps.to(chosen[0].dtype).contiguous()), alpha=-rate)


def orthogonalised(matrices: Float[Tensor, "*N A B"], steps: int) -> Float[Tensor, "*N A B"]:
    """Return matrices with the singular vectors of `matrices` and singular values near 1.

    `steps` is the number of iterations.
    """
    a, b, c = COEFFICIENTS
    x = matrices.to(torch.float32 if matrices.device.type == "cpu" else torch.bfloat16)
    tall = x.size(-2) > x.size(-1)
    x = (x.mT if tall else x).reshape(-1, *sorted(x.shape[-2:]))
    x = x / torch.linalg.vector_norm(x, dim=(1, 2), keepdim=True).clamp(min=LEAST)
    for _ in range(steps):
        gram = x @ x.mT
        x = torch.baddbmm(x, torch.baddbmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return (x.mT if tall else x).reshape(matrices.shape)
