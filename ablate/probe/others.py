"""How busy the machine is with other processes while a probe is timed."""

import os
import time
from pathlib import Path

STAT = Path("/proc/stat")
WORKING = (1, 2, 3, 6, 7, 8)  # fields: user, nice, system, irq, softirq, stolen by the host


class OtherLoad:
    """From now on: how many cores work for anything but this process."""

    def __init__(self) -> None:
        self.start = time.perf_counter()
        self.before = seconds_of_others()

    def cores(self) -> float | None:
        """Return the mean number since then; None where the system does not tell."""
        after = seconds_of_others()
        if after is None or self.before is None:
            return None
        return max(0.0, after - self.before) / (time.perf_counter() - self.start)


def seconds_of_others() -> float | None:
    """Return the seconds that all cores have worked since boot, less those of this process."""
    if not STAT.exists():
        return None
    fields = STAT.read_text(encoding="utf-8").splitlines()[0].split()
    ticks = sum(int(fields[number]) for number in WORKING)
    own = os.times()
    return ticks / os.sysconf("SC_CLK_TCK") - own.user - own.system
