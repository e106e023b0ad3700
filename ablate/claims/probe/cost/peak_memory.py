"""How much memory a work takes, as the system sees it.

Equation: resident bytes of a process of its own, at their highest while the work is done once, less
    those before; the process has torch and the inputs by then.
Source: VmHWM and VmRSS of Linux, proc_pid_status(5); 5 in clear_refs resets the first.
What differs: what a kernel keeps for itself is in it, and so is what the allocator keeps.
What to expect: noise of a few hundred kilobytes, so that only works of many megabytes tell.
"""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import torch

from ablate.claims.probe.cost.of_work import OfWork, made
from ablate.claims.probe.cost.works import Sizes
from ablate.errors import UserError

OWN = Path("/proc/self")
PAGE = 4096  # bytes: the least that a work is said to take, so that it has a logarithm
START = "from ablate.claims.probe.cost.peak_memory import main; main()"


class PeakMemory(OfWork):
    """Does a work in a child process.

    Raises:
        UserError: the system is not Linux, or anything that OfWork refuses.
        RuntimeError: the child ended without an answer.
    """

    measures = ("resident_bytes",)

    def __call__(self, model: Any) -> dict[str, float]:
        """Return the bytes."""
        if not OWN.exists():
            raise UserError("probe=peak_memory reads /proc/self, which Linux alone has")
        question = json.dumps({"work": self.work, "sizes": self.sizes, "seed": self.seed})
        command = [sys.executable, "-c", START]
        done = subprocess.run(
            command,
            input=question,
            capture_output=True,
            encoding="utf-8",
            errors="backslashreplace",
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"the process of the work ended with {done.stderr}")
        return {"resident_bytes": float(done.stdout)}


def main() -> None:
    """Read a work from standard input, do it, and write how many bytes it took."""
    question = json.load(sys.stdin)
    torch.set_num_threads(1)
    print(resident_bytes(question["work"], Sizes(*question["sizes"]), question["seed"]))


def resident_bytes(work: str, sizes: Sizes, seed: int) -> int:
    """Return by how much the peak of this process is above what it had before the work."""
    ready = made(work, sizes, seed)
    with torch.no_grad():
        made(work, sizes._replace(length=min(64, sizes.length)), seed)()  # what torch makes once
        (OWN / "clear_refs").write_text("5", encoding="utf-8")
        before = status("VmRSS")
        ready()
    return max(PAGE, status("VmHWM") - before)


def status(key: str) -> int:
    """Return a number of bytes that the system has of this process."""
    lines = (OWN / "status").read_text(encoding="utf-8")
    found = re.search(rf"^{key}:\s+(\d+) kB$", lines, re.MULTILINE)
    assert found is not None
    return 1024 * int(found[1])
