"""Separate random streams of one run, all from its seed.

Initial weights, data order and dropout each have their own stream, so that a factor which uses one
of them more often or less leaves the others as they are: arms of the same seed share initial
weights and batches. The global generators are left for dropout alone.
"""

import hashlib

import torch
from omegaconf import DictConfig


def stream(seed: int, name: str) -> int:
    """Return a seed of 63 bits for the stream `name`."""
    text = f"{seed}/{name}".encode()
    return int.from_bytes(hashlib.sha256(text).digest()[:8], "big") >> 1


def seed_of(config: DictConfig) -> int:
    """Return the seed that all streams of a run follow from; in the first set it is `seed`."""
    seed: int = config.seed
    return stream(seed, f"replicate/{config.replicate}") if config.replicate else seed


def seed_dropout(seed: int, rank: int) -> None:
    """Start the dropout stream; every device draws its own masks."""
    torch.manual_seed(stream(seed, f"dropout/{rank}"))
