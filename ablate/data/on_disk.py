"""Arrays in memory-mapped files, of which only the parts that are needed are read.

Mapped pages count as resident memory while the kernel has room for them, but the pages are not
private: processes share them, and the kernel drops them when memory is needed.
"""

from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.integer[Any]]


class OnDisk:
    """An array of numbers in a file; pickling this object stores only the path and the number
    type.
    """

    def __init__(self, path: Path, dtype: npt.DTypeLike):
        self.path = path
        self.dtype = np.dtype(dtype)

    def __len__(self) -> int:
        return self.path.stat().st_size // self.dtype.itemsize

    def take(self, starts: Integers, counts: Integers) -> Integers:
        """Return `counts[i]` numbers from each position `starts[i]`, concatenated."""
        before = counts.cumsum() - counts
        return self._all[np.arange(counts.sum()) + np.repeat(starts - before, counts)]

    def at(self, places: Integers) -> Integers:
        """Return the numbers at the given positions, in the shape of `places`."""
        return self._all[places]

    @cached_property
    def _all(self) -> Integers:
        if not len(self):  # an empty file cannot be mapped
            return np.empty(0, self.dtype)
        return np.asarray(np.memmap(self.path, self.dtype, "r"))

    def __getstate__(self) -> dict[str, object]:
        return {"path": self.path, "dtype": self.dtype}
