"""What happens on SIGTERM and on Ctrl-C.

A scheduler that wants the machine back sends SIGTERM, and its grace is short. While a run trains,
the signal waits for the end of the batch, so that what is saved is a whole state; at any other
time it ends the process at once. The exit status is the shell's for the signal: 143 or 130.
"""

import signal
import threading
from types import FrameType
from typing import Any, NoReturn

SIGNALS = (signal.SIGTERM, signal.SIGINT)


class Interrupted(SystemExit):
    """The end of this process that a signal has asked for."""


class Interruption:
    """Catches the signals as long as its context lasts; only the main thread can."""

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
        """Take the signals, also from somebody who has taken them since."""
        for number in SIGNALS:
            _handle(number, self._arrived)

    def release(self) -> None:
        """Let the signals end the process at once, until `defer`.

        Python runs no handler while a C library waits for other machines.
        """
        for number in SIGNALS:
            _handle(number, signal.SIG_DFL)

    def defer(self) -> None:
        """From now on, wait for `leave`."""
        self.catch()
        self.deferred = True

    def undefer(self) -> None:
        """From now on, leave at once; now, if a signal has come."""
        self.deferred = False
        if self.received is not None:
            self.leave()

    def leave(self) -> NoReturn:
        """End the process.

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
