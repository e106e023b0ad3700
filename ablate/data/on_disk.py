"""Arrays in files, read a slice at a time.

A small file is read once. Of a large one only what is wanted is read, each time: the pages of a
file that is mapped count as memory of the process, and in random order they soon are all of it.
"""

import os
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

SMALL = 1 << 24  # bytes

Integers = npt.NDArray[np.integer[Any]]


class OnDisk:
    """The numbers in a file; pickling sends its path."""

    def __init__(self, path: Path, dtype: npt.DTypeLike):
        self.path = path
        self.dtype = np.dtype(dtype)

    def __len__(self) -> int:
        return self.path.stat().st_size // self.dtype.itemsize

    def take(self, starts: Integers, counts: Integers) -> Integers:
        """Return `counts` numbers from each of `starts` on, one stretch after the other."""
        if self._is_small:
            before = counts.cumsum() - counts
            return self._all[np.arange(counts.sum()) + np.repeat(starts - before, counts)]
        size = self.dtype.itemsize
        with self.path.open("rb", buffering=0) as file:
            handle = file.fileno()
            stretches = [
                os.pread(handle, size * count, size * start)
                for start, count in zip(starts.tolist(), counts.tolist(), strict=True)
            ]
        return np.frombuffer(b"".join(stretches), self.dtype)

    @cached_property
    def _is_small(self) -> bool:
        return self.path.stat().st_size <= SMALL

    @cached_property
    def _all(self) -> Integers:
        return np.fromfile(self.path, self.dtype)

    def __getstate__(self) -> dict[str, Any]:
        return {"path": self.path, "dtype": self.dtype}
