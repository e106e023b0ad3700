"""The interface of parametrisations: what the width of a model changes besides its shapes."""

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
        """Return the factor of looked-up embeddings; `scale` is the factor without this
        parametrisation.
        """
        return scale

    def rate(self, role: str) -> float:
        """Return the factor of the learning rate for a role of parameters
        (`ablate.optimizer.roles`).
        """
        return 1.0

    def adjust(self, model: nn.Module) -> None:
        """Rescale the initial values of a model in place, after `initial=seeded` has drawn them."""
        return
