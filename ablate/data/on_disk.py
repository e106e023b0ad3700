"""Arrays in files, mapped by the kernel and read a slice at a time.

The pages of a mapped file count as resident memory of the process as long as the kernel has room
for them, but they are not private: processes share them, and the kernel drops them for whoever
needs memory.
"""

from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

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
        before = counts.cumsum() - counts
        return self._all[np.arange(counts.sum()) + np.repeat(starts - before, counts)]

    def at(self, places: Integers) -> Integers:
        """Return the numbers at some places, in the shape of `places`."""
        return self._all[places]

    @cached_property
    def _all(self) -> Integers:
        if not len(self):  # nothing can be mapped
            return np.empty(0, self.dtype)
        return np.asarray(np.memmap(self.path, self.dtype, "r"))

    def __getstate__(self) -> dict[str, object]:
        return {"path": self.path, "dtype": self.dtype}
