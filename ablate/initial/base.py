"""Define the interface of initial weights."""

from abc import ABC, abstractmethod

from omegaconf import DictConfig

from ablate.config.construct import construct
from ablate.data.tokenizer import Tokenizers
from ablate.model.base import Model


class Initial(ABC):
    """Sets the weights from which training starts; an option of `initial`."""

    def check(self, model: Model) -> None:  # noqa: B027
        """Check, before training, that the option suits a model, whose weights may be on the meta
        device.

        Raises:
            UserError: the option does not suit the model.
        """

    @abstractmethod
    def __call__(self, model: Model, tokenizers: Tokenizers, seed: int) -> None:
        """Initialise every parameter of the model in place.

        Raises:
            UserError: a file with weights is missing, or does not fit the model.
        """

    def fingerprint(self) -> str:
        """Return a hash of the files that the option reads; "" if it reads no files.

        The hash decides, with the config, whether two runs are the same.
        """
        return ""


def weights_fingerprint(config: DictConfig) -> str:
    """Return the hash of the files from which a run's initial weights are read; "" without files.

    `config` is the config of the run.
    """
    initial: Initial = construct(config.initial)
    return initial.fingerprint()
