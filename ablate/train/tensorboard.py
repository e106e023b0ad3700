"""The logger for TensorBoard, which is an optional dependency."""

import functools
import threading

from pytorch_lightning.loggers import TensorBoardLogger

from ablate.errors import UserError


def tensorboard(*, save_dir: str, name: str) -> TensorBoardLogger:
    """Return Lightning's TensorBoard logger.

    No other arguments of this logger can be set, because they could not be checked.

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
    """Stop Python from printing errors of TensorBoard's background thread.

    The next call of the logger raises such an error again. `GuardedLogger` then prints the error as
    a warning.
    """
    usual = threading.excepthook

    def hook(failure: threading.ExceptHookArgs) -> None:
        if not type(failure.thread).__module__.startswith("tensorboard."):
            usual(failure)

    threading.excepthook = hook
