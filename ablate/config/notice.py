"""Sentences that a person reads once, however many runs of a process they concern."""

import functools


@functools.cache
def say_once(sentence: str) -> None:
    """Print a sentence, unless this process or the first process of its run has printed it."""
    from pytorch_lightning.utilities import rank_zero_only  # only commands that train load it

    if getattr(rank_zero_only, "rank", 0) == 0:
        print(sentence, flush=True)
