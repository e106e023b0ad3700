"""Separate random streams of a run, all derived from its seed.

Initial weights, data order and dropout each have their own stream, so a factor that affects one of
them leaves the others unchanged: arms of the same seed share initial weights and batches. Only
dropout uses the global generators.
"""

import hashlib

import torch
from omegaconf import DictConfig


def stream(seed: int, name: str) -> int:
    """Return a seed of 63 bits for the stream `name`."""
    text = f"{seed}/{name}".encode()
    return int.from_bytes(hashlib.sha256(text).digest()[:8], "big") >> 1


def seed_of(config: DictConfig) -> int:
    """Return the seed from which all streams of a run are derived; without replicate, it is
    `seed`.
    """
    seed: int = config.seed
    return stream(seed, f"replicate/{config.replicate}") if config.replicate else seed


def seed_dropout(seed: int, rank: int) -> None:
    """Seed the dropout stream; every device draws different masks."""
    torch.manual_seed(stream(seed, f"dropout/{rank}"))
