"""Print a message only once, even if it concerns several runs of a process."""

import functools


@functools.cache
def say_once(sentence: str) -> None:
    """Print a message once per process; of the processes of a run on several devices, only the
    first prints it.
    """
    # slow to import; loaded only by commands that train
    from pytorch_lightning.utilities import rank_zero_only

    if getattr(rank_zero_only, "rank", 0) == 0:
        print(sentence, flush=True)
