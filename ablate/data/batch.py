"""The batch of examples on which a model is trained at one step."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Int
from torch import Tensor

Ids = Int[np.ndarray, "B _"]
Draw = Callable[[int], np.random.Generator]  # generator of a line, by line number


class Batch(NamedTuple):
    """A batch of B examples of a task, padded with PAD.

    A batch may be empty (B = 0): in a distributed evaluation, a process for which no data is left
    gets empty batches.
    """

    inputs: Any  # what the model reads: `Seq2Seq`, or another type that the task defines
    targets: Int[Tensor, "B T"]  # what the model must predict at each position; PAD is not scored
    lines: Int[Tensor, " B"]  # line numbers of the examples in their split


# Build a batch from source ids, target ids (each row ends with EOS and is padded with PAD), line
# numbers, and a source of random numbers.
Collate = Callable[[Ids, Ids, Int[np.ndarray, " B"], Draw], Batch]
# Replace targets that the task never scores by PAD; the arguments are those of `Collate`.
Scored = Callable[[Ids, Ids, Int[np.ndarray, " B"], Draw], Ids]
