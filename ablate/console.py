"""Print to the terminal: text without markup, and the progress of long work.

Progress is a bar with the remaining time on a terminal, otherwise a line per minute, on standard
error. Work that ends within seconds prints nothing, so the progress of any loop may be tracked.
"""

import sys
import threading
import time
from collections.abc import Iterable, Iterator
from datetime import timedelta
from io import StringIO
from typing import TypeVar

from rich.console import Console as RichConsole

T = TypeVar("T")

AFTER = 2.0  # seconds until the bar appears
EVERY = 60.0  # seconds between two lines
REFRESH = 0.5  # seconds between two updates of the bar
DISPLAY = threading.Lock()  # locked while a `Work` is shown: two bars would overwrite each other


class Console(RichConsole):
    """Rich's console, but a closed output pipe raises an exception as with `print`."""

    def on_broken_pipe(self) -> None:
        """Raise the current exception again; rich's own method would end the process with status
        1.
        """
        raise  # noqa: PLE0704


def make_console(
    *, stderr: bool = False, file: StringIO | None = None, width: int | None = None
) -> Console:
    """Return a console that prints brackets, colons and numbers without markup, emoji or colours,
    because a path may contain brackets.

    For styled output, use `rich.text.Text` or the argument `style`.
    """
    return Console(
        stderr=stderr, file=file, width=width, markup=False, emoji=False, highlight=False
    )


class Work:
    """A context manager that counts finished items while a thread shows their number.

    If another `Work` is already shown, the new `Work` counts but shows nothing.

    Args:
        name: text that describes the work, such as "reading verdicts".
        total: number of items; None if it is unknown.
        shown: false if other output shows the progress, or would be disturbed by it.
    """

    def __init__(self, name: str, total: int | None = None, *, shown: bool = True) -> None:
        self.name = name
        self.total = total
        self.shown = shown
        self.done = 0
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> "Work":
        self._start = time.monotonic()
        if self.shown and DISPLAY.acquire(blocking=False):
            show = self._bar if sys.stderr and sys.stderr.isatty() else self._lines
            self._thread = threading.Thread(target=show, daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *_raised: object) -> None:
        if self._thread:
            self._ended.set()
            self._thread.join()
            DISPLAY.release()

    def advance(self, items: int = 1) -> None:
        """Add finished items to the count."""
        self.done += items

    def expect(self, more: int) -> None:
        """Increase the total; `more` may be negative."""
        self.total = (self.total or 0) + more

    def line(self) -> str:
        """Return the progress as text: "reading verdicts: 30 of 120, 0:01:30 left"."""
        seconds = time.monotonic() - self._start
        if self.total is None or not 0 < self.done < self.total:  # more work may follow
            count = f"{self.done:,} done, " if self.done else ""
            return f"{self.name}: {count}{timedelta(seconds=round(seconds))} so far"
        left = timedelta(seconds=round(seconds / self.done * max(0, self.total - self.done)))
        return f"{self.name}: {self.done:,} of {self.total:,}, {left} left"

    def _lines(self) -> None:
        while not self._ended.wait(EVERY):
            print(self.line(), file=sys.stderr, flush=True)

    def _bar(self) -> None:
        if self._ended.wait(AFTER):
            return
        from rich.progress import BarColumn, Progress, TextColumn

        columns = (BarColumn(), TextColumn("{task.description}", markup=False))
        with Progress(*columns, console=make_console(stderr=True), transient=True) as bar:
            task = bar.add_task(self.line(), total=self.total)
            while not self._ended.wait(REFRESH):
                bar.update(task, completed=self.done, description=self.line())


def track(items: Iterable[T], name: str, total: int | None = None) -> Iterator[T]:
    """Yield the items, and show how many of them have been processed.

    `name` describes the work, and `total` is the number of items if it is known.
    """
    with Work(name, total) as work:
        for item in items:
            yield item
            work.advance()
