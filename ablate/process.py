"""Prepare the process of a run: its random streams, its memory, and the code for its device.

Initial weights, data order and dropout have a random stream each. So a factor that affects one
stream leaves the other streams unchanged: arms of the same seed share initial weights and batches.
Only dropout uses torch's global generators.

Some components have a fast path for CPUs, which reads numbers from tensors. On a GPU, such a read
would wait until all earlier kernels have finished.
"""

import ctypes
import hashlib
import os
import sys

import torch
from omegaconf import DictConfig

TRIM_THRESHOLD, TOP_PAD, MMAP_MAX = -1, -2, -4  # options of mallopt, from malloc.h
GROWTH = 1 << 26  # bytes by which the heap grows
PROGRAMS = 256  # maximum number of compiled kernels that oneDNN caches


def stream(seed: int, name: str) -> int:
    """Return the 63-bit seed of the random stream `name`, derived from the seed of the run."""
    text = f"{seed}/{name}".encode()
    return int.from_bytes(hashlib.sha256(text).digest()[:8], "big") >> 1


def seed_of(config: DictConfig) -> int:
    """Return the number from which all random streams of a run are derived.

    The number is `seed` if `replicate` is 0; otherwise it depends on both config keys.
    """
    seed: int = config.seed
    return stream(seed, f"replicate/{config.replicate}") if config.replicate else seed


def seed_dropout(seed: int, rank: int) -> None:
    """Seed torch's global generators, which only dropout uses; every process (`rank`) draws
    different masks.
    """
    torch.manual_seed(stream(seed, f"dropout/{rank}"))


def uses_cpu_path(device: torch.device) -> bool:
    """Return whether code that is tuned for CPUs runs on this device.

    The result is False while `torch.compile` traces a model, because a read of a number would split
    the traced graph.
    """
    return device.type == "cpu" and not torch.compiler.is_compiling()


def keep_memory() -> None:
    """Let new tensors reuse the memory of freed tensors, and limit the number of kernels that
    oneDNN caches.

    By default, glibc returns every freed tensor above 128 KB to the system. The next tensor then
    causes a page fault for each 4 KB. These faults take up to a third of a training step on a CPU.
    Memory that is already free is returned once, because it is too fragmented for tensors. Without
    glibc, only the cache of oneDNN is limited. oneDNN, which multiplies in
    bfloat16, caches a compiled kernel with its memory for each of the last 1024 shapes; `PROGRAMS`
    kernels are enough for shapes that recur (ablate.model.layers).

    This function must be called before the first matrix product. Environment variables of the user
    take precedence.
    """
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", str(PROGRAMS))
    if sys.platform != "linux" or not hasattr(system := ctypes.CDLL(None), "malloc_trim"):
        return
    system.malloc_trim(0)
    system.mallopt(MMAP_MAX, 0)
    system.mallopt(TRIM_THRESHOLD, -1)
    system.mallopt(TOP_PAD, GROWTH)
