"""TensorBoard, which is an extra."""

from pytorch_lightning.loggers import TensorBoardLogger

from ablate.errors import UserError


def tensorboard(*, save_dir: str, name: str) -> TensorBoardLogger:
    """Return Lightning's logger, without its arbitrary keywords, which could not be checked.

    Raises:
        UserError: TensorBoard is not installed.
    """
    try:
        return TensorBoardLogger(save_dir, name=name)
    except ModuleNotFoundError as error:
        raise UserError(
            f"logger=tensorboard: {error}; pip install 'ablate[tensorboard]', or choose logger=csv"
        ) from None
