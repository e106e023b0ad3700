"""TensorBoard, which is an extra."""

import functools
import threading

from pytorch_lightning.loggers import TensorBoardLogger

from ablate.errors import UserError


def tensorboard(*, save_dir: str, name: str) -> TensorBoardLogger:
    """Return Lightning's logger, without its arbitrary keywords, which could not be checked.

    Raises:
        UserError: TensorBoard is not installed.
    """
    silence_writer()
    try:
        return TensorBoardLogger(save_dir, name=name)
    except ModuleNotFoundError as error:
        raise UserError(
            f"logger=tensorboard: {error}; pip install 'ablate[tensorboard]', or choose logger=csv"
        ) from None


@functools.cache
def silence_writer() -> None:
    """Have errors of TensorBoard's own thread printed by nobody but the guard of the logger.

    The thread raises what it cannot write, and the next call of the logger raises it again.
    """
    usual = threading.excepthook

    def hook(failure: threading.ExceptHookArgs) -> None:
        if not type(failure.thread).__module__.startswith("tensorboard."):
            usual(failure)

    threading.excepthook = hook
