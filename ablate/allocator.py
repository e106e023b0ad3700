"""Memory that the process has once had stays with it.

glibc gives every freed tensor above 128 KB back to the system, and the next one pays a page fault
for each 4 KB: on a CPU up to a third of a training step.
"""

import ctypes
import sys

TRIM_THRESHOLD, TOP_PAD, MMAP_MAX = -1, -2, -4  # of malloc.h
GROWTH = 1 << 26  # bytes by which the heap grows


def keep_memory() -> None:
    """Have tensors allocated in a heap that never shrinks; without glibc, nothing changes."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt:
        mallopt(MMAP_MAX, 0)
        mallopt(TRIM_THRESHOLD, -1)
        mallopt(TOP_PAD, GROWTH)
