"""The seam of parametrisations: what the width of a model changes besides its shapes."""

from abc import ABC
from typing import ClassVar

from torch import nn

from ablate.model.laws import Law


class Parametrisation(nn.Module, ABC):
    """Factors that follow from widths; built as `parametrisation(d_model=, d_head=)`.

    Each is 1 unless an option says otherwise. The optimiser asks for those of learning rates.
    """

    breaks: ClassVar[frozenset[Law]] = frozenset()
    rates_by_role: ClassVar[bool] = False  # whether learning rates differ between roles
    query_factor: float = 1.0  # multiplies queries, and so the scores of attention
    logit_factor: float = 1.0  # multiplies the matrix of logits

    def scale_of_rows(self, scale: float) -> float:
        """Return what multiplies looked-up embeddings, from what would multiply them otherwise."""
        return scale

    def rate(self, role: str) -> float:
        """Return the factor of the learning rate of a role, as `ablate.optimizer.roles` has it."""
        return 1.0

    def adjust(self, model: nn.Module) -> None:
        """Change the initial values of a model in place, once `initial=seeded` has drawn them."""
        return
