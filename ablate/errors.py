"""Messages to the user: errors, hints, notices, tables, and the progress of long work.

Progress is a bar with the remaining time on a terminal, otherwise a line per minute, on standard
error. Work that ends within seconds prints nothing, so the progress of any loop may be tracked.
"""

import difflib
import functools
import io
import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TextIO, TypeVar

T = TypeVar("T")
AFTER = 2.0  # seconds until the progress appears
EVERY = 60.0  # seconds between two lines

# variables from which Lightning reads the rank of a process, in its order
RANKS = ("RANK", "LOCAL_RANK", "SLURM_PROCID", "JSM_NAMESPACE_RANK")


class UserError(Exception):
    """The exception for an invalid config, corpus or checkpoint, or for settings that do not fit
    together.

    The message is one sentence that names the key or file, the given value, and the allowed values.
    A command prints the message without a traceback, and exits with a non-zero status. Unprintable
    characters, such as a line feed in a value, are escaped.
    """

    def __str__(self) -> str:
        return "".join(
            letter if letter.isprintable() else letter.encode("unicode_escape").decode()
            for letter in super().__str__()
        )


def suggestion(word: str, names: Sequence[str]) -> str:
    """Return "did you mean NAME? " with the name that is most similar to `word`, as a whole or in
    its part after the last dot or slash; "" if no name is similar.
    """
    ends = {re.split("[./]", name)[-1]: name for name in reversed(names)}
    by_text = ends | {name: name for name in names}
    near = difflib.get_close_matches(word, by_text, n=1)
    return f"did you mean {by_text[near[0]]}? " if near else ""


def name_hint(word: str, names: Sequence[str]) -> str:
    """Return the end of an error message about an unknown word: a similar name, if there is one,
    and all allowed names.
    """
    return f"{suggestion(word, names)}allowed is {', '.join(names)}"


def first_line(error: BaseException) -> str:
    """Return the first line of an exception's message; the name of its class if it has none."""
    return next(filter(None, str(error).splitlines()), type(error).__name__)


def class_and_line(error: BaseException) -> str:
    """Return the class of an exception with the first line of its message, as in "KeyError: 3"."""
    return ": ".join(dict.fromkeys((type(error).__name__, first_line(error))))


def rank() -> int:
    """Return the rank of this process among the processes of its run, as Lightning has it.

    Lightning is not imported for that, because its import takes seconds.
    """
    if "pytorch_lightning" in sys.modules:
        from pytorch_lightning.utilities import rank_zero_only

        return int(getattr(rank_zero_only, "rank", 0))
    return int(next((os.environ[name] for name in RANKS if name in os.environ), 0))


@functools.cache
def say_once(sentence: str) -> None:
    """Print a message once per process; of the processes of a run on several devices, only the
    first prints it.
    """
    if rank() == 0:
        print(sentence, flush=True)


def make_console(*, stderr: bool = False, file: TextIO | None = None, width: int = 0) -> Any:
    """Return a console of rich that prints brackets, colons and numbers without markup, emoji or
    colours, because a path may contain brackets.

    For styled output, use `rich.text.Text` or the argument `style`. A closed output pipe raises an
    exception as with `print`; rich itself would end the process with status 1.
    """
    from rich.console import Console  # slow to import, and most messages are plain

    class Plain(Console):
        def on_broken_pipe(self) -> None:
            raise  # noqa: PLE0704

    plain: Any = {"markup": False, "emoji": False, "highlight": False}
    return Plain(stderr=stderr, file=file, width=width or None, **plain)


def progress(name: str, total: int | None = None, *, shown: bool = True) -> Any:
    """Return a progress bar of tqdm, a context manager that counts finished items.

    Args:
        name: text that describes the work, such as "reading verdicts".
        total: number of items; None if it is unknown.
        shown: false if other output shows the progress, or would be disturbed by it.
    """
    from tqdm import tqdm  # slow to import

    every = 0.5 if sys.stderr and sys.stderr.isatty() else EVERY
    file = None if shown else io.StringIO()
    settings: Any = {"delay": AFTER, "mininterval": every, "leave": False}
    return tqdm(desc=name, total=total, file=file, **settings)


def track(items: Iterable[T], name: str, total: int | None = None) -> Iterator[T]:
    """Yield the items, and show how many of them have been processed.

    `name` describes the work, and `total` is the number of items if it is known.
    """
    with progress(name, total) as work:
        for item in items:
            yield item
            work.update()
