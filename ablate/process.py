"""What a process of `ablate` asks of the operating system and of the interpreter.

Everything here acts on the whole process. Nothing here changes a number of a run.
"""

import ctypes
import gc
import importlib.util
import io
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from multiprocessing import forkserver
from multiprocessing.context import ForkServerContext

TRIM_THRESHOLD, TOP_PAD, MMAP_MAX = -1, -2, -4  # of malloc.h
GROWTH = 1 << 26  # bytes by which the heap grows
PROGRAMS = 256  # that oneDNN keeps
PR_SET_PDEATHSIG = 1  # of prctl.h


def keep_memory() -> None:
    """Keep freed memory in the heap, and cap the cache of oneDNN.

    glibc gives every freed tensor above 128 KB back to the system, and the next one pays a page
    fault for each 4 KB: on a CPU up to a third of a training step. Without glibc, nothing changes.
    oneDNN, which multiplies in bfloat16, keeps a program and its memory for each of the last 1024
    shapes; PROGRAMS are enough for those that come again (ablate.model.linear), the others would
    only take memory.

    This has to come before the first matrix product. What the user's environment says stays.
    """
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", str(PROGRAMS))
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt:
        mallopt(MMAP_MAX, 0)
        mallopt(TRIM_THRESHOLD, -1)
        mallopt(TOP_PAD, GROWTH)


def exempt_imports() -> None:
    """Exempt all objects that exist now from garbage collection, in processes forked later too."""
    gc.freeze()


def fork_server(modules: Sequence[str]) -> ForkServerContext:
    """Return the context of processes that are forked from a server with these modules."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(modules))
    return context


def start_fork_server() -> None:
    """Start the server, whose imports take seconds, while this process does something else."""
    forkserver.ensure_running()


def act_as_command(module: str, arguments: Sequence[str]) -> None:
    """Make this process look as if `python -m module arguments` had started it.

    Lightning starts the other processes of DDP with this command line.
    """
    sys.argv = [sys.argv[0], *arguments]
    sys.modules["__main__"].__spec__ = importlib.util.find_spec(module)


def write_output_to(path: str) -> None:
    """Append standard output and standard error of this process to a file."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
        os.dup2(handle, stream.fileno())
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    os.close(handle)


def end_with_parent() -> None:
    """End this process of `multiprocessing` when the process that asked for it is gone.

    The operating system cannot do that: its parent is the fork server, which its children keep
    alive.
    """
    parent = multiprocessing.parent_process()

    def wait() -> None:
        if parent is not None:
            parent.join()
            os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=wait, daemon=True).start()


def ending_with(parent: int) -> Callable[[], None] | None:
    """Return what a new command calls so that Linux ends it with its parent; None elsewhere.

    Args:
        parent: number of the process that starts the command.
    """
    if sys.platform != "linux":
        return None
    system = ctypes.CDLL(None)

    def ask() -> None:
        system.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:  # it is gone already
            os.kill(os.getpid(), signal.SIGTERM)

    return ask
