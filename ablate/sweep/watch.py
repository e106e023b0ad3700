"""Show the progress of a sweep with remote workers, from the files that they write."""

import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from ablate.errors import UserError
from ablate.evidence.gather import SCREENING
from ablate.record.sealed import read_sealed
from ablate.record.types import Link
from ablate.sweep.view import View

POLL_SECONDS = 1.0  # interval between two checks of the folder


class Watch:
    """A context manager that shows every run of a sweep that ends while the context is open.

    Args:
        view: the display on which the runs are shown.
        sweep: folder of the sweep, in which workers write the results of runs.
        labels: label of each run, by the number of the run in the sweep.
    """

    def __init__(self, view: View, sweep: Path, labels: Mapping[int, str]) -> None:
        self._view = view
        self._sweep = sweep
        self._labels = labels
        self._seen: dict[Path, int] = {}  # time of the last change in nanoseconds
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._poll, daemon=True)

    def look(self, *, failures: bool = True) -> None:
        """Show the runs that have ended since the last call.

        Without `failures`, leave out failed runs.
        """
        folders = (self._sweep / SCREENING, self._sweep)
        for path in (path for folder in folders for path in sorted(folder.glob("cells/*.json"))):
            # the run is being repeated, or its file is damaged
            with suppress(OSError, UserError):
                changed = path.stat().st_mtime_ns
                if self._seen.get(path) != changed:
                    link: Link = read_sealed(path)
                    self._seen[path] = changed
                    if failures or link["status"] != "failed":
                        self._view.finished(self._label(link), link, here=False)

    def _label(self, link: Link) -> str:
        return self._labels.get(link["cell"]) or " ".join(link["overrides"])

    def _poll(self) -> None:
        while not self._ended.wait(POLL_SECONDS):
            self.look()

    def __enter__(self) -> "Watch":
        self.look(failures=False)  # the workers will retry earlier failures
        self._thread.start()
        return self

    def __exit__(self, *_raised: object) -> None:
        self._ended.set()
        self._thread.join()
        self.look()
