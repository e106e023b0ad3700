"""Keep freed memory in the heap; cap oneDNN's shape cache.

glibc gives every freed tensor above 128 KB back to the system, and the next one pays a page fault
for each 4 KB: on a CPU up to a third of a training step. oneDNN, which multiplies in bfloat16,
keeps a program and its memory for each of the last 1024 shapes; PROGRAMS are enough for those that
come again (ablate.model.linear), the others would only take memory.
"""

import ctypes
import os
import sys

TRIM_THRESHOLD, TOP_PAD, MMAP_MAX = -1, -2, -4  # of malloc.h
GROWTH = 1 << 26  # bytes by which the heap grows
PROGRAMS = 256  # that oneDNN keeps


def keep_memory() -> None:
    """Have tensors allocated in a heap that never shrinks (without glibc, nothing changes).

    Has to come before the first matrix product. What the user's environment says stays.
    """
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", str(PROGRAMS))
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt:
        mallopt(MMAP_MAX, 0)
        mallopt(TRIM_THRESHOLD, -1)
        mallopt(TOP_PAD, GROWTH)
