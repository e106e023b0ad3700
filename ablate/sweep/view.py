"""Show the progress of a sweep: a line for each run that ends, and on a terminal a bar."""

import time
from datetime import datetime, timedelta

from ablate.console import make_console
from ablate.progress import Work
from ablate.record.types import Link


class View(Work):
    """The display of a sweep's progress. It counts all runs, failed runs and reused runs."""

    def __init__(self, name: str, total: int) -> None:
        self.console = make_console(stderr=True)
        super().__init__(name, total, shown=self.console.is_terminal)
        self.failed = 0
        self.reused = 0

    def expect(self, more: int) -> None:
        """Increase the number of expected runs; `more` is negative if arms were stopped."""
        self.total = (self.total or 0) + more

    def finished(self, label: str, outcome: Link, *, here: bool) -> None:
        """Show the outcome of a run; `here` is true if this process executed it."""
        reused = bool(outcome.get("reused"))
        self.advance()
        self.failed += outcome["status"] == "failed"
        self.reused += reused
        how = "reused" if reused else outcome["status"]
        detail = outcome.get("error") or f"{outcome['wall_seconds']:.0f} s"
        where = "" if here else " (earlier, or another worker)"
        line = f"{self.done}/{self.total} {label}: {how}, {detail}{where}"
        self.console.print(line, soft_wrap=True)

    def line(self) -> str:
        """Return the counts and the estimated end as text."""
        counts = f"{self.done} of {self.total}, {self.failed} failed, {self.reused} reused"
        fresh = self.done - self.reused
        if not fresh:
            return f"{self.name}: {counts}"
        left = (time.monotonic() - self._start) / fresh * ((self.total or 0) - self.done)
        end = datetime.now() + timedelta(seconds=left)
        return f"{self.name}: {counts}, ends about {end:%H:%M}"
