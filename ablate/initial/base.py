"""The interface of initial weights."""

from abc import ABC, abstractmethod

from omegaconf import DictConfig

from ablate.config.construct import construct
from ablate.data.tokenizer import Tokenizers
from ablate.model.base import Model


class Initial(ABC):
    """Sets the weights from which training starts; an option of `initial`."""

    @abstractmethod
    def __call__(self, model: Model, tokenizers: Tokenizers, seed: int) -> None:
        """Initialise every parameter in place.

        Raises:
            UserError: a file that it reads is missing or does not fit the model.
        """

    def fingerprint(self) -> str:
        """Return a hash of the files that it reads, which is part of a run's identity; "" if there
        are none.
        """
        return ""


def weights_fingerprint(config: DictConfig) -> str:
    """Return the fingerprint of the initial weights of a run, from its config."""
    initial: Initial = construct(config.initial)
    return initial.fingerprint()
