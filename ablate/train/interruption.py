"""Handle SIGTERM and Ctrl-C.

A scheduler sends SIGTERM shortly before it takes the machine away. While a run trains, the signal
takes effect at the end of the batch, after a complete state was saved. At any other time the signal
ends the process at once. The exit status is the status that a shell gives for the signal: 143 or
130.
"""

import signal
import threading
from types import FrameType
from typing import Any, NoReturn

SIGNALS = (signal.SIGTERM, signal.SIGINT)


class Interrupted(SystemExit):
    """The exception that ends this process because of a signal."""


class Interruption:
    """A context manager that handles SIGTERM and Ctrl-C; outside the main thread it does
    nothing.
    """

    def __init__(self) -> None:
        self.received: int | None = None
        self.deferred = False
        self._earlier: dict[int, Any] = {}

    def __enter__(self) -> "Interruption":
        self._earlier = {number: signal.getsignal(number) for number in SIGNALS}
        self.catch()
        return self

    def __exit__(self, *_raised: object) -> None:
        for number, handler in self._earlier.items():
            _handle(number, handler)

    def catch(self) -> None:
        """Install the signal handlers, even if other code has replaced them since."""
        for number in SIGNALS:
            _handle(number, self._arrived)

    def release(self) -> None:
        """Let signals end the process at once, until `defer` is called.

        The operating system's default handlers end it. A handler in Python would not run while a C
        library waits for other machines.
        """
        for number in SIGNALS:
            _handle(number, signal.SIG_DFL)

    def defer(self) -> None:
        """Let a signal wait until `leave` or `undefer` is called; a second Ctrl-C ends the process
        at once.
        """
        self.catch()
        self.deferred = True

    def undefer(self) -> None:
        """Let signals end the process at once, including a signal that has already come."""
        self.deferred = False
        if self.received is not None:
            self.leave()

    def leave(self) -> NoReturn:
        """End the process with the exit status of the signal.

        Raises:
            Interrupted: always.
        """
        raise Interrupted(128 + (self.received or signal.SIGTERM))

    def _arrived(self, number: int, frame: FrameType | None) -> None:
        impatient = self.received == signal.SIGINT == number
        self.received = number
        if impatient or not self.deferred:
            self.leave()


def _handle(number: int, handler: Any) -> None:
    if threading.current_thread() is threading.main_thread():
        signal.signal(number, handler)
