"""Print a message only once, even if it concerns several runs of a process."""

import functools

from ablate.process import rank


@functools.cache
def say_once(sentence: str) -> None:
    """Print a message once per process; of the processes of a run on several devices, only the
    first prints it.
    """
    if rank() == 0:
        print(sentence, flush=True)
