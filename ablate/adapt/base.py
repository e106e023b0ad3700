"""The interface of adaptation: an option chooses the weights to train, and may add weights."""

from abc import ABC, abstractmethod
from typing import ClassVar

from ablate.model.base import Model


class Adapt(ABC):
    """Changes a model in place after its weights are initialised; an option of `adapt`.

    Weights that require a gradient are trained. If a weight becomes a function of other weights, as
    in LoRA, it is replaced by `torch.nn.utils.parametrize`, so that the change applies wherever the
    weight is used. To restore a trained run, the model is built and adapted before its weights are
    loaded.
    """

    # whether the change leaves the logits as they are until the first training step
    starts_unchanged: ClassVar[bool] = True

    @abstractmethod
    def __call__(self, model: Model, seed: int) -> None:
        """Change the model in place.

        The initial values of added weights depend only on the seed.
        """
