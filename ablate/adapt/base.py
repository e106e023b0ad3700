"""The seam of adaptation: which weights train, and what is added to them."""

from abc import ABC, abstractmethod
from typing import ClassVar

from ablate.model.base import Model


class Adapt(ABC):
    """Changes a model in place after its initial weights are there; a level of `adapt`.

    What trains is what requires a gradient. Weights that are replaced by a function of others, as
    in LoRA, are replaced by `torch.nn.utils.parametrize`, so that every way through the model sees
    them. A trained run is restored by building the model, adapting it and reading its weights.
    """

    # whether the adapted model gives the same logits until its first step
    starts_unchanged: ClassVar[bool] = True

    @abstractmethod
    def __call__(self, model: Model, seed: int) -> None:
        """Change the model; initial values of what is added depend on the seed alone."""
