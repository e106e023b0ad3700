"""Measure the overhead of a sweep: seconds per cell, and memory of the coordinating process.

    python -m lab.bench.cells                             100 and 1000 cells on this machine
    python -m lab.bench.cells engine=ray engine.workers=2     the same with another engine

A cell is one run of a sweep. The cells are probes that take a fraction of a second, and two run at
the same time. The overhead is the time from the start of a cell to the start of the next cell in
its place, minus the cell's time in its record. Neither column of the table should grow with the
number of cells.
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

STUDY = ("+experiment=heads_param_count", "logger=none", "-m")
ARMS = 10  # number of arms of STUDY


def main() -> None:
    """Print a table with a row for every number of cells."""
    given = dict(word.split("=", 1) for word in sys.argv[1:])
    sizes = [int(size) for size in given.pop("cells", "100,1000").split(",")]
    print("| cells | wall s | s per cell beside its own | coordinator, MB |")
    print("|---:|---:|---:|---:|")
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            print(row(Path(folder), size, [f"{key}={word}" for key, word in given.items()]))


def row(folder: Path, cells: int, words: list[str]) -> str:
    """Run a sweep with this number of cells, and return the table row with its overhead.

    Args:
        folder: folder for the results of the sweep.
        cells: number of cells.
        words: further overrides of the sweep.
    """
    seeds = f"seed=range({cells // ARMS})"
    place = (f"paths.results={folder / 'results'}", f"paths.cache={folder / 'cache'}", "n_jobs=2")
    start = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, "-m", "ablate", seeds, *place, *words, *STUDY], stdout=subprocess.DEVNULL
    ) as sweep:
        most = 0
        while sweep.poll() is None:
            most = max(most, memory(sweep.pid))
            time.sleep(0.5)
    wall = time.perf_counter() - start
    links = [
        json.loads(path.read_text(encoding="utf-8"))
        for path in folder.glob("results/sweeps/*/*/cells/*")
    ]
    seconds = sum(link["wall_seconds"] for link in links)
    beside = (2 * wall - seconds) / len(links)
    return f"| {len(links)} | {wall:.1f} | {beside:.3f} | {most / 1e6:.0f} |"


def memory(process: int) -> int:
    """Return a process's resident memory in bytes; 0 if the process has ended."""
    try:
        pages = Path(f"/proc/{process}/statm").read_text(encoding="utf-8").split()[1]
    except OSError:
        return 0
    return int(pages) * 4096


if __name__ == "__main__":
    main()
