"""The interface of values: which values self-attention mixes, given those of earlier layers."""

from abc import ABC, abstractmethod
from typing import ClassVar

from jaxtyping import Float
from torch import Tensor

from ablate.model.laws import Law

Heads = Float[Tensor, "B H L E"]


class Values(ABC):
    """Decides which values the self-attention of a layer mixes; built as `values()`."""

    breaks: ClassVar[frozenset[Law]] = frozenset()

    @abstractmethod
    def mix(self, v: Heads, earlier: list[Heads]) -> Heads:
        """Return the values of this layer.

        Args:
            v: values that this layer projects.
            earlier: values that earlier layers have stored for the same tokens; empty in the first
                layer of a stack.
        """
