"""Settings of a process: memory, fork server, output, children, and how the process ends.

All functions act on the whole process. None of them changes a result of a run.
"""

import ctypes
import functools
import importlib.util
import multiprocessing.connection
import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from multiprocessing import forkserver
from pathlib import Path

TRIM_THRESHOLD, TOP_PAD, MMAP_MAX = -1, -2, -4  # options of mallopt, from malloc.h
GROWTH = 1 << 26  # bytes by which the heap grows
PROGRAMS = 256  # maximum number of compiled kernels that oneDNN caches
# variables from which Lightning reads the rank of a process, in its order
RANKS = ("RANK", "LOCAL_RANK", "SLURM_PROCID", "JSM_NAMESPACE_RANK")

GRACE_SECONDS = 20  # time for a run to save its state when the sweep is stopped

_ending = threading.Event()
_one_at_a_time = threading.RLock()


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


def keep_memory() -> None:
    """Let new tensors reuse the memory of freed tensors, and limit the number of kernels that
    oneDNN caches.

    By default, glibc returns every freed tensor above 128 KB to the system. The next tensor then
    causes a page fault for each 4 KB. These faults take up to a third of a training step on a CPU.
    Memory that is already free is returned once, because it is too fragmented for tensors. Without
    glibc, only the cache of oneDNN is limited. oneDNN, which multiplies in
    bfloat16, caches a compiled kernel with its memory for each of the last 1024 shapes; `PROGRAMS`
    kernels are enough for shapes that recur (ablate.model.linear).

    This function must be called before the first matrix product. Environment variables of the user
    take precedence.
    """
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", str(PROGRAMS))
    if sys.platform != "linux" or not hasattr(system := ctypes.CDLL(None), "malloc_trim"):
        return
    system.malloc_trim(0)
    system.mallopt(MMAP_MAX, 0)
    system.mallopt(TRIM_THRESHOLD, -1)
    system.mallopt(TOP_PAD, GROWTH)


def limit_threads(threads: int) -> None:
    """Let libraries that later processes import use this number of threads."""
    # with more threads, the tokenizers library would block in forked processes
    os.environ |= {"OMP_NUM_THREADS": str(threads), "TOKENIZERS_PARALLELISM": "0"}


def start_fork_server(modules: Sequence[str]) -> None:
    """Start in the background the server from which the processes of `run_in_child` are forked,
    with these modules imported, which takes seconds; after `end_children`, processes may start
    again.
    """
    _ending.clear()
    multiprocessing.get_context("forkserver").set_forkserver_preload(list(modules))
    forkserver.ensure_running()


def run_in_child(target: Callable[..., object], *arguments: object) -> int:
    """Call a function in a new process, and return the exit status of the process.

    Several threads may call this function at a time. The processes are started and joined one after
    the other, because multiprocessing reports wrong exit statuses otherwise.
    """
    process = multiprocessing.get_context("forkserver").Process(target=target, args=arguments)
    with _one_at_a_time:
        if _ending.is_set():
            return -signal.SIGTERM
        process.start()
    multiprocessing.connection.wait([process.sentinel])
    with _one_at_a_time:
        process.join()
    return int(process.exitcode or 0)


def end_children() -> None:
    """Ask the processes of `run_in_child` to save their state and end; kill them after a while.

    No process starts afterwards, until `start_fork_server` is called.
    """
    _ending.set()
    with _one_at_a_time:
        processes = multiprocessing.active_children()
    for process in processes:
        process.terminate()
    for process in processes:
        multiprocessing.connection.wait([process.sentinel], GRACE_SECONDS)
        process.kill()


def act_as_command(module: str, arguments: Sequence[str]) -> None:
    """Make this process look as if `python -m module arguments` had started it.

    Lightning starts the other processes of DDP with this command line.
    """
    sys.argv = [sys.argv[0], *arguments]
    sys.modules["__main__"].__spec__ = importlib.util.find_spec(module)


def write_output_to(path: Path) -> None:
    """Append standard output and standard error of this process to a file."""
    with path.open("a", encoding="utf-8") as file:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
            os.dup2(file.fileno(), stream.fileno())


def end_with_parent() -> None:
    """Make this process end as soon as the process that started it with `multiprocessing` ends.

    The operating system cannot do this, because it sees the fork server as the parent.
    """
    parent = multiprocessing.parent_process()

    def wait() -> None:
        if parent is not None:
            parent.join()
            os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=wait, daemon=True).start()
