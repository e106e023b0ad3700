"""The live view of a sweep whose workers run elsewhere, from the files that they leave."""

import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from ablate.errors import UserError
from ablate.evidence.gather import SCREENING
from ablate.record.sealed import read_sealed
from ablate.record.types import Link
from ablate.sweep.view import View

POLL_SECONDS = 1.0  # between two looks at the folder of a sweep


class Watch:
    """Shows every cell that ends, until its context ends.

    Args:
        view: shows the cells.
        sweep: folder of the sweep.
        labels: of the cells, by number.
    """

    def __init__(self, view: View, sweep: Path, labels: Mapping[int, str]) -> None:
        self._view = view
        self._sweep = sweep
        self._labels = labels
        self._seen: dict[Path, int] = {}  # nanoseconds of the last change
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._poll, daemon=True)

    def look(self, *, failures: bool = True) -> None:
        """Show the cells that have ended since the last look."""
        folders = (self._sweep / SCREENING, self._sweep)
        for path in (path for folder in folders for path in sorted(folder.glob("cells/*.json"))):
            with suppress(OSError, UserError):  # it is run again at this moment, or is damaged
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
        self.look(failures=False)  # the workers try again what failed before
        self._thread.start()
        return self

    def __exit__(self, *_raised: object) -> None:
        self._ended.set()
        self._thread.join()
        self.look()
