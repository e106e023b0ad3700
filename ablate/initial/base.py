"""The seam of initial weights."""

from abc import ABC, abstractmethod

from omegaconf import DictConfig

from ablate.config.construct import construct
from ablate.data.tokenizer import Tokenizers
from ablate.model.base import Model


class Initial(ABC):
    """Gives a model the weights that its training starts from; a level of `initial`."""

    @abstractmethod
    def __call__(self, model: Model, tokenizers: Tokenizers, seed: int) -> None:
        """Fill every parameter in place.

        Raises:
            UserError: what it reads is missing or does not fit the model.
        """

    def fingerprint(self) -> str:
        """Return a hash of the files that it reads, which is part of a run's identity; "": none."""
        return ""


def weights_fingerprint(config: DictConfig) -> str:
    """Return the fingerprint of the initial weights of a run that is not started here."""
    initial: Initial = construct(config.initial)
    return initial.fingerprint()
