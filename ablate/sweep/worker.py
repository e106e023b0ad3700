"""What happens inside the process of one run of a sweep."""

import importlib.util
import io
import multiprocessing
import os
import signal
import sys
import threading

from hydra.core.utils import run_job, setup_globals
from hydra.types import HydraContext

from ablate.errors import UserError
from ablate.sweep.cell import Cell


def work(context: HydraContext, cell: Cell, argv: list[str], log: str) -> None:
    """Run a cell with its output in a file; exit status 0 when it ended as it should."""
    _write_output_to(log)
    _die_with_parent()
    setup_globals()
    # DDP starts its other processes with this command line.
    sys.argv = [sys.argv[0], *argv]
    sys.modules["__main__"].__spec__ = importlib.util.find_spec("ablate.__main__")
    from ablate.train.run import run

    done = run_job(
        task_function=run,
        config=cell.config,
        job_dir_key="hydra.sweep.dir",
        job_subdir_key="hydra.sweep.subdir",
        hydra_context=context,
    )
    try:
        _ = done.return_value
    except UserError as error:
        print(f"ablate: {error}", file=sys.stderr)
        sys.exit(1)
    except Exception as error:
        sys.excepthook(type(error), error, error.__traceback__)
        sys.exit(1)


def _write_output_to(path: str) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
        os.dup2(handle, stream.fileno())
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    os.close(handle)


def _die_with_parent() -> None:
    """End this run when the sweep is gone, however that happened."""
    parent = multiprocessing.parent_process()

    def wait() -> None:
        if parent is not None:
            parent.join()
            os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=wait, daemon=True).start()
