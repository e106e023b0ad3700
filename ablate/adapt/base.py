"""The interface of adaptation: which weights are trained, and which are added."""

from abc import ABC, abstractmethod
from typing import ClassVar

from ablate.model.base import Model


class Adapt(ABC):
    """Change a model in place after its weights are initialised; an option of `adapt`.

    Weights that require a gradient are trained. Weights that become a function of others, as in
    LoRA, are replaced by `torch.nn.utils.parametrize`, so that every use of them sees the change.
    To restore a trained run, the model is built and adapted, and then its weights are loaded.
    """

    # whether the adapted model gives the same logits before its first step
    starts_unchanged: ClassVar[bool] = True

    @abstractmethod
    def __call__(self, model: Model, seed: int) -> None:
        """Change the model; initial values of added weights depend only on the seed."""
