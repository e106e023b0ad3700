"""What a person is told once, however many runs of a process it concerns."""

import functools


@functools.cache
def say_once(sentence: str) -> None:
    """Print a sentence, unless this process has printed it before."""
    print(sentence, flush=True)
