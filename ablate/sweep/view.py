"""Show the progress of a sweep: how many runs are done, running and failed, and the estimated
end.
"""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from pathlib import Path

from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

from ablate.console import make_console
from ablate.errors import UserError
from ablate.evidence.gather import SCREENING
from ablate.progress import DISPLAY
from ablate.record.sealed import read_sealed
from ablate.record.types import Link

POLL_SECONDS = 1.0  # interval between two checks of the folder of a sweep


class View:
    """The display of a sweep's progress: a line for each run that ends and, on a terminal, a
    progress bar.
    """

    def __init__(self, name: str, total: int, *, works_here: bool = True) -> None:
        self.console = make_console(stderr=True)
        self.total = total
        self.works_here = works_here  # whether this process runs cells itself
        self.running = 0
        self.done = 0
        self.failed = 0
        self.reused = 0
        self._start = time.monotonic()
        self._progress = Progress(
            TextColumn(name, style="bold", markup=False),
            BarColumn(),
            TaskProgressColumn(),
            TextColumn("{task.description}", markup=False),
            console=self.console,
            disable=not self.console.is_terminal,
        )
        self._bar = self._progress.add_task("", total=total)

    def __enter__(self) -> "View":
        self._claimed = DISPLAY.acquire(blocking=False)
        self._progress.start()
        return self

    def __exit__(self, *_raised: object) -> None:
        self._progress.stop()
        if self._claimed:
            DISPLAY.release()

    def expect(self, more: int) -> None:
        """Increase the number of expected runs; `more` is negative if arms were stopped."""
        self.total += more
        self._progress.update(self._bar, total=self.total)

    def started(self) -> None:
        """Add 1 to the number of running runs."""
        self.running += 1
        self._refresh()

    def interrupted(self) -> None:
        """Subtract a run that was interrupted from the number of running runs; it will resume."""
        self.running -= 1
        self._refresh()

    def finished(self, label: str, outcome: Link, *, here: bool) -> None:
        """Show the outcome of a run; `here` is true if this worker ran it."""
        self.running -= here
        self.done += 1
        self.failed += outcome["status"] == "failed"
        self.reused += bool(outcome.get("reused"))
        self._refresh()
        how = "reused" if outcome.get("reused") else outcome["status"]
        detail = outcome.get("error") or f"{outcome['wall_seconds']:.0f} s"
        where = "" if here or not self.works_here else " (earlier, or another worker)"
        line = f"{self.done}/{self.total} {label}: {how}, {detail}{where}"
        self.console.print(line, soft_wrap=True)

    def _refresh(self) -> None:
        running = f"{self.running} running, " if self.works_here else ""
        text = f"{running}{self.failed} failed, {self.reused} reused{self._end()}"
        self._progress.update(self._bar, completed=self.done, description=text)

    def _end(self) -> str:
        fresh = self.done - self.reused
        if not fresh:
            return ""
        left = (time.monotonic() - self._start) / fresh * (self.total - self.done)
        return f", ends about {datetime.now() + timedelta(seconds=left):%H:%M}"


@contextmanager
def watching(view: View, sweep: Path, labels: Mapping[int, str]) -> Iterator[Callable[[], None]]:
    """Show every run that ends while a `with` block runs, for a sweep with remote workers.

    Yield a function that shows the runs that have ended since its last call.

    Args:
        view: the display on which the runs are shown.
        sweep: folder of the sweep, in which workers write the results of runs.
        labels: label of each run, by the number of the run in the sweep.
    """
    seen: dict[Path, int] = {}  # time of the last change in nanoseconds
    ended = threading.Event()

    def look(*, failures: bool = True) -> None:
        folders = (sweep / SCREENING, sweep)
        for path in (path for folder in folders for path in sorted(folder.glob("cells/*.json"))):
            # the run is being repeated, or its file is damaged
            with suppress(OSError, UserError):
                changed = path.stat().st_mtime_ns
                if seen.get(path) != changed:
                    link: Link = read_sealed(path)
                    seen[path] = changed
                    if failures or link["status"] != "failed":
                        label = labels.get(link["cell"]) or " ".join(link["overrides"])
                        view.finished(label, link, here=False)

    def poll() -> None:
        while not ended.wait(POLL_SECONDS):
            look()

    look(failures=False)  # the workers will retry earlier failures
    thread = threading.Thread(target=poll, daemon=True)
    thread.start()
    try:
        yield look
    finally:
        ended.set()
        thread.join()
        look()
