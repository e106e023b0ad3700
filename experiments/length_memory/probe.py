"""Measure the memory of a workload as the operating system reports it.

Equation: peak resident bytes of a separate process while the workload runs once, minus the resident
    bytes before; torch and the inputs are loaded before.
Source: VmHWM and VmRSS of Linux, proc_pid_status(5); 5 in clear_refs resets the first.
What differs: the result includes internal memory of kernels and of the allocator.
What to expect: variation of a few hundred kilobytes, so only workloads of many megabytes are
    informative.
"""

import json
import re
import sys
from pathlib import Path
from typing import Any

import torch

from ablate.errors import UserError
from experiments.shared.child import answer
from experiments.shared.cost.of_work import OfWork, made
from experiments.shared.cost.works import Sizes

OWN = Path("/proc/self")
PAGE = 4096  # bytes: the smallest reported value, so that its logarithm exists


class PeakMemory(OfWork):
    """A probe of the peak memory of a workload, which is run once in a child process.

    Raises:
        UserError: the system is not Linux, or a setting is one that OfWork rejects.
        RuntimeError: the child ended without a result.
    """

    measures = ("resident_bytes",)

    def __call__(self, model: Any) -> dict[str, float]:
        """Return `resident_bytes`: the peak resident bytes during the workload, minus the resident
        bytes before the workload.
        """
        if not OWN.exists():
            raise UserError("probe=peak_memory reads /proc/self, which exists only on Linux")
        question = {"work": self.work, "sizes": self.sizes, "seed": self.seed}
        return {"resident_bytes": float(answer(__name__, question))}


def main() -> None:
    """Run the workload that standard input describes as JSON, and print its additional resident
    bytes.
    """
    question = json.load(sys.stdin)
    torch.set_num_threads(1)
    print(resident_bytes(question["work"], Sizes(*question["sizes"]), question["seed"]))


def resident_bytes(work: str, sizes: Sizes, seed: int) -> int:
    """Run a workload in this process, and return the peak resident bytes during the workload, minus
    the resident bytes before the workload. The result is at least PAGE.
    """
    ready = made(work, sizes, seed)
    with torch.no_grad():
        # A first run on small inputs makes the allocations that torch makes only once.
        made(work, sizes._replace(length=min(64, sizes.length)), seed)()
        (OWN / "clear_refs").write_text("5", encoding="utf-8")
        before = status("VmRSS")
        ready()
    return max(PAGE, status("VmHWM") - before)


def status(key: str) -> int:
    """Return a memory value of this process in bytes, read from /proc under the name `key`, such as
    VmHWM.
    """
    lines = (OWN / "status").read_text(encoding="utf-8")
    match = re.search(rf"^{key}:\s+(\d+) kB$", lines, re.MULTILINE)
    assert match is not None
    return 1024 * int(match[1])
