"""The interface of parametrisations.

A parametrisation scales learning rates, initial values, logits and attention scores by the width of
a model.
"""

from abc import ABC
from typing import ClassVar

from torch import nn

from ablate.model.laws import Law


class Parametrisation(nn.Module, ABC):
    """Factors that depend on the widths of a model; built as `parametrisation(d_model=, d_head=)`.

    Each factor is 1 unless an option overrides it. The optimiser reads the factors of learning
    rates.
    """

    breaks: ClassVar[frozenset[Law]] = frozenset()
    rates_by_role: ClassVar[bool] = False  # whether learning rates differ between roles
    query_factor: float = 1.0  # multiplies queries, and so the scores of attention
    logit_factor: float = 1.0  # multiplies the matrix of logits

    def scale_of_rows(self, scale: float) -> float:
        """Return the factor by which looked-up embeddings are multiplied.

        `scale` is the factor of the standard parametrisation: sqrt(d_model) or 1.
        """
        return scale

    def rate(self, role: str) -> float:
        """Return the factor of the learning rate for parameters of a role.

        The roles are "matrices", "embeddings", "norms" and "biases" (`ablate.optimizer.roles`).
        """
        return 1.0

    def adjust(self, model: nn.Module) -> None:
        """Rescale the initial values of a model in place, after `initial=seeded` has drawn them."""
        return
