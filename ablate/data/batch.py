"""What a model is trained on at one step."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Int
from torch import Tensor

Ids = Int[np.ndarray, "B _"]
Draw = Callable[[int], np.random.Generator]  # random numbers of a line, keyed by seed and epoch


class Batch(NamedTuple):
    """B examples of a task, padded with PAD.

    A batch may be empty (B = 0): ranks that run out of evaluation batches get such a one.
    """

    inputs: Any  # what the model reads: `Seq2Seq`, or what else the task gives
    targets: Int[Tensor, "B T"]  # what its states predict; PAD is not scored
    lines: Int[Tensor, " B"]  # their numbers in the split


# from sources and targets, each ended by EOS and filled up with PAD, and their line numbers
Collate = Callable[[Ids, Ids, Int[np.ndarray, " B"], Draw], Batch]
