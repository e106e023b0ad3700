"""Measure the processor load that other processes cause while a probe is timed."""

import os
import time
from pathlib import Path

STAT = Path("/proc/stat")
WORKING = (1, 2, 3, 6, 7, 8)  # fields: user, nice, system, irq, softirq, steal


class OtherLoad:
    """A stopwatch for the load by other processes, which starts when the object is created."""

    def __init__(self) -> None:
        self.start = time.perf_counter()
        self.before = seconds_of_others()

    def cores(self) -> float | None:
        """Return the mean number of cores that other processes used since the object was created;
        None if the system does not report it.
        """
        after = seconds_of_others()
        if after is None or self.before is None:
            return None
        return max(0.0, after - self.before) / (time.perf_counter() - self.start)


def seconds_of_others() -> float | None:
    """Return the processor seconds of all other processes since boot; None if the system does not
    report them.
    """
    if not STAT.exists():
        return None
    fields = STAT.read_text(encoding="utf-8").splitlines()[0].split()
    ticks = sum(int(fields[number]) for number in WORKING)
    this_process = os.times()
    return ticks / os.sysconf("SC_CLK_TCK") - this_process.user - this_process.system
