"""Read weights from disk, verify them, and load them into a model."""

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
        UserError: the file is missing or damaged, contains more than tensors,
            or does not match `digest`.
    """
    try:
        weights, actual = read_tensors(path)
    except Exception as error:  # damage raises many types of exceptions
        raise UserError(f"{path} is damaged or missing ({type(error).__name__})") from None
    if digest is not None and actual != digest:
        raise UserError(f"{path} has the weights of another run")
    return weights


def load_weights(module: nn.Module, path: Path, digest: str | None = None) -> None:
    """Load the weights of a run into its model.

    Args:
        module: the model.
        path: the file with the weights.
        digest: SHA-256 that the result of the run states; None to skip this check.

    Raises:
        UserError: the file is missing, damaged, from another run, or does not fit the model.
    """
    weights = read_weights(path, digest)
    try:
        module.load_state_dict(weights)
    except RuntimeError as error:
        raise UserError(f"{path} has the weights of another model: {error}") from None
