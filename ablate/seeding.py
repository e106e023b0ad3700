"""Derive separate random streams of a run from its seed.

Initial weights, data order and dropout have a random stream each. So a factor that affects one
stream leaves the other streams unchanged: arms of the same seed share initial weights and batches.
Only dropout uses torch's global generators.
"""

import hashlib

import torch
from omegaconf import DictConfig


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
