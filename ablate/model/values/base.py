"""The interface of values: self-attention may combine a layer's values with those of earlier
layers.
"""

from abc import ABC, abstractmethod
from typing import ClassVar

from jaxtyping import Float
from torch import Tensor

from ablate.model.laws import Law

Heads = Float[Tensor, "B H L E"]


class Values(ABC):
    """Computes the values that self-attention averages in a layer; built as `values()`."""

    breaks: ClassVar[frozenset[Law]] = frozenset()

    @abstractmethod
    def mix(self, v: Heads, earlier: list[Heads]) -> Heads:
        """Return the values that self-attention averages in this layer.

        Args:
            v: values that this layer projects from its input.
            earlier: values that earlier layers have stored for the same tokens; empty in the first
                layer of a stack.
        """
