"""Make standard streams and text independent of the locale, and replace closed streams."""

import codecs
import io
import locale
import os
import sys

from ablate.errors import UserError

UTF8_MODE = "PYTHONUTF8"
closed: list[str] = []  # names of the standard streams that were closed when this process started


def use_utf8() -> None:
    """Restart this process in Python's UTF-8 mode if the locale has another encoding.

    The mode affects libraries that open text files without an encoding, file names, and the words
    of the command line. Child processes inherit it through the environment.
    """
    preferred = codecs.lookup(locale.getpreferredencoding(False)).name
    if preferred == "utf-8" or os.environ.get(UTF8_MODE) == "1":
        return
    os.environ[UTF8_MODE] = "1"
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])


def prepare_streams() -> None:
    """Print unencodable characters as escapes, and replace closed streams by the null device.

    A file that is opened later could otherwise get the file descriptor of a closed standard stream,
    and C libraries would print into this file.
    """
    for descriptor, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            closed.append(name)
            null = os.open(os.devnull, os.O_RDWR)
            if null != descriptor:
                os.dup2(null, descriptor)
                os.close(null)
            mode = "r" if name == "stdin" else "w"
            stream = open(descriptor, mode, encoding="utf-8", closefd=False)  # noqa: SIM115
            setattr(sys, name, stream)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def check_open(command: str) -> None:
    """Raise UserError if standard input or output, which a command needs, was closed at the start
    of this process.
    """
    if missing := [name for name in ("stdin", "stdout") if name in closed]:
        raise UserError(
            f"{missing[0]} is closed, but {command} uses stdin and stdout: start it with both open"
        )
