"""The seam of padding masks."""

from abc import ABC, abstractmethod
from typing import ClassVar

from jaxtyping import Bool
from torch import Tensor

from ablate.model.laws import Law


class Padding(ABC):
    """Says which pairs of query and key padding leaves; built as `padding()`, one per stack.

    The causal mask of the decoder is not its business.
    """

    breaks: ClassVar[frozenset[Law]] = frozenset()

    @abstractmethod
    def keep(
        self, queries: Bool[Tensor, "B Q"], keys: Bool[Tensor, "B K"]
    ) -> Bool[Tensor, "B 1 #Q #K"] | None:
        """Return the mask, True = may attend, or None where everything may.

        `queries` and `keys` are True at real tokens, False at padding.
        """
