"""Read weights from disk, verify them, and load them into a model."""

from collections.abc import Collection
from pathlib import Path

from torch import Tensor, nn

from ablate.errors import UserError
from ablate.record.files import read_tensors

Weights = dict[str, Tensor]


def read_weights(path: Path, digest: str | None = None) -> Weights:
    """Return the weights in a file, by parameter name.

    Args:
        path: the file.
        digest: SHA-256 that the result of the run states; None to skip this check.

    Raises:
        UserError: the file is missing, damaged, contains something other than weights, or does not
            match `digest`.
    """
    if not path.is_file():
        raise UserError(f"{path} does not exist: the run has not finished, or its weights are gone")
    try:
        weights, actual = read_tensors(path)
        named = {str(name): value for name, value in weights.items()}
        if not all(isinstance(value, Tensor) for value in named.values()):
            raise ValueError
    except Exception:  # damage raises many types of exceptions
        raise UserError(
            f"{path} is damaged, or has other objects than tensors, which are not loaded"
        ) from None
    if digest is not None and actual != digest:
        raise UserError(f"{path} has the weights of another run")
    return named


def load_weights(
    module: nn.Module, path: Path, digest: str | None = None, ignored: Collection[str] = ()
) -> None:
    """Load the weights of a run into its model.

    Args:
        module: the model.
        path: the file with the weights.
        digest: SHA-256 that the result of the run states; None to skip this check.
        ignored: names of weights that the file may have although the model does not.

    Raises:
        UserError: the file is missing, damaged, from another run, or does not fit the model.
    """
    stored = read_weights(path, digest)
    weights = {name: value for name, value in stored.items() if name not in ignored}
    try:
        module.load_state_dict(weights)
    except RuntimeError as error:
        raise UserError(f"{path} has the weights of another model: {error}") from None
