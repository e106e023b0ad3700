"""The interface of parametrisations.

A parametrisation scales learning rates, initial values, logits and attention scores by the width of
a model.
"""

from abc import ABC
from enum import Enum
from typing import ClassVar

from torch import nn

from ablate.model.laws import Law


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

    def check(self, kernel: nn.Module) -> None:
        """Raise UserError if the factors do not suit an attention kernel."""
        return

    def scale_of_rows(self, scale: float) -> float:
        """Return the factor by which looked-up embeddings are multiplied.

        `scale` is the factor of the standard parametrisation: sqrt(d_model) or 1.
        """
        return scale

    def rate(self, role: str) -> float:
        """Return the factor of the learning rate for parameters of a role.

        The roles are "matrices", "embeddings", "norms" and "biases" (`ablate.optimizer.roles`). The
        factor of "matrices" is for those whose number of inputs grows with the width.
        """
        return 1.0

    def adjust(self, model: nn.Module) -> None:
        """Rescale the initial values of a model in place, after `initial=seeded` has drawn them."""
        return
