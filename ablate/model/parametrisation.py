"""The interface and the options of parametrisations.

A parametrisation scales learning rates, initial values, logits and attention scores by the width of
a model.
"""

from abc import ABC
from enum import Enum
from typing import ClassVar

import torch
from torch import nn

from ablate.config.limits import Count
from ablate.errors import UserError
from ablate.model import Law
from ablate.model.attention import Kernel
from ablate.model.embedding import Embedding, Table
from ablate.model.position import Position


class FanIn(Enum):
    """The number of inputs of a matrix, which determines how its learning rate should scale.

    A module whose matrices have other inputs than `WIDTH` has an attribute `fan_in`: a dictionary
    from the names of its parameters and sub-modules to members of this class.
    """

    WIDTH = "grows with d_model"
    HEAD = "grows with d_head"
    FIXED = "does not grow"


class Parametrisation(nn.Module, ABC):
    """Factors that depend on the widths of a model; built as `parametrisation(d_model=, d_head=)`.

    Each factor is 1 unless an option overrides it. The optimiser reads the factors of learning
    rates. Matrices whose number of inputs does not grow with the model keep their learning rate.
    """

    breaks: ClassVar[frozenset[Law]] = frozenset()
    rates_by_role: ClassVar[bool] = False  # whether learning rates differ between roles
    query_factor: float = 1.0  # multiplies queries, and so the scores of attention
    logit_factor: float = 1.0  # multiplies the matrix of logits
    head_rate: float = 1.0  # multiplies learning rates of matrices that read one head (`FanIn`)

    def check_kernel(self, kernel: nn.Module) -> None:
        """Raise UserError if the scaling factors of this parametrisation do not work with an
        attention kernel.
        """
        return

    def scale_of_rows(self, scale: float) -> float:
        """Return the factor by which looked-up embeddings are multiplied.

        `scale` is the factor of the standard parametrisation: sqrt(d_model) or 1.
        """
        return scale

    def rate(self, role: str) -> float:
        """Return the factor of the learning rate for parameters of a role.

        The roles are "matrices", "embeddings", "norms" and "biases" (`ablate.optimizer`). The
        factor of "matrices" is for those whose number of inputs grows with the width.
        """
        return 1.0

    def adjust(self, model: nn.Module) -> None:
        """Rescale the initial values of a model in place, after `initial=seeded` has drawn them."""
        return


class Standard(Parametrisation):
    """The standard parametrisation: the width affects only shapes and the range of initial values.

    The standard parametrisation: all factors are 1.

    Equation: scores are divided as model/attention defines; logits = W h; one learning rate for
        all.
    Source: arXiv:1706.03762, sections 3.2 and 3.4; called SP in arXiv:2203.03466.
    What differs: nothing.
    What to expect: the best learning rate falls as the model becomes wider.
    """

    def __init__(self, *, d_model: int, d_head: int) -> None:
        super().__init__()


def parametrisation_of(module: nn.Module) -> Parametrisation:
    """Return the parametrisation that a module contains; the standard one if it contains none."""
    parts = (part for part in module.modules() if isinstance(part, Parametrisation))
    return next(parts, Standard(d_model=1, d_head=1))


class Mup(Parametrisation):
    """Maximal update parametrisation (muP) for Adam: one learning rate suits all widths.

    The parametrisation muP: its factors depend on d_model / base_width and d_head / base_head.

    Equation: with m = d_model / base_width and n = d_head / base_head: learning rates of hidden
        matrices are divided by m, or by n if their inputs are the channels of one head; logits = (1
        / m) W h; attention scores are also divided by sqrt(n), so that they scale with 1 / d_head
        instead of 1 / sqrt(d_head). Hidden matrices start with a variance of 1 / width; embeddings,
        positions and the output projection start with the variance that they have at the base
        width.
    Source: arXiv:2203.03466, table 8 and section 4 (attention by 1 / d).
    What differs: hidden matrices keep the Xavier range of `initial=seeded`, whose variance is 2 /
        (rows + columns), and all hidden matrices have the same factor, so widths of feed-forward
        sub-layers must grow with d_model. If model.embedding.scaled is true, looked-up embeddings
        are multiplied by sqrt(base_width) at every width. The factor of the scores is applied to
        the queries. Therefore kernels whose scores are not dot products with these queries, divided
        by sqrt(d_head), need n = 1: wider models then have more heads. AdamW multiplies weight
        decay by the learning rate, so hidden matrices decay less. The inputs of B in adapt=lora and
        of U in adapt=adapters do not grow with the width, so these matrices keep their learning
        rate. The prefix of adapt=prefix has the initial size and the learning rate of the base
        width.
    What to expect: at the base width, the results of the standard parametrisation. At other widths,
        a step changes activations by as much as at the base width, and the best learning rate stays
        the same.

    Args:
        d_model: width of the model.
        d_head: width of its heads.
        base_width: value of `model.d_model` at which muP equals the standard parametrisation.
        base_head: head width (d_head) at which muP equals the standard parametrisation.
    """

    breaks = frozenset({Law.INITIAL_VALUES})
    rates_by_role = True

    def __init__(self, *, d_model: int, d_head: int, base_width: Count, base_head: Count) -> None:
        super().__init__()
        self.width, self.base = d_model, base_width
        self.logit_factor = base_width / d_model
        self.d_head, self.base_head = d_head, base_head
        self.query_factor = (base_head / d_head) ** 0.5
        self.head_rate = base_head / d_head

    def check_kernel(self, kernel: nn.Module) -> None:
        """Raise UserError if heads are not as wide as `base_head`, and the factor of the queries
        does not divide the scores of the kernel.
        """
        parts = (part for part in kernel.modules() if isinstance(part, Kernel))
        if self.d_head != self.base_head and not all(part.suits_mup for part in parts):
            raise UserError(
                f"heads have {self.d_head} channels, and model.parametrisation.base_head is "
                f"{self.base_head}: muP then divides attention scores through the queries, which "
                f"does not suit {type(kernel).__name__} attention. Set "
                f"model.parametrisation.base_head={self.d_head}, and widen models by more heads; "
                "or choose a model/attention whose scores are dot products divided by "
                "sqrt(d_head), such as fused or qk_norm_first with scale=sqrt_d_head"
            )

    def scale_of_rows(self, scale: float) -> float:
        """Return the factor of looked-up embeddings: sqrt(base_width) in place of sqrt(d_model).

        A `scale` of 1 (embeddings that are not scaled) is returned unchanged.
        """
        return scale if scale == 1 else self.base**0.5

    def rate(self, role: str) -> float:
        """Return base_width / d_model for hidden matrices, and 1 for other roles."""
        return self.base / self.width if role == "matrices" else 1.0

    @torch.no_grad()
    def adjust(self, model: nn.Module) -> None:
        """Rescale embeddings, positions and output projection to their range at the base width."""
        for part in model.modules():
            if isinstance(part, Table | Position):  # drawn with standard deviation width^-0.5
                for table in part.parameters(recurse=False):
                    table.mul_((self.width / self.base) ** 0.5 if table.dim() > 1 else 1.0)
            if isinstance(part, Embedding):  # the output projection is Xavier uniform
                for output in part.children():
                    if isinstance(output, nn.Linear):
                        rows = len(output.weight)
                        output.weight.mul_(((rows + self.width) / (rows + self.base)) ** 0.5)
