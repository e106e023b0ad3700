"""The batch of examples on which a model is trained at one step."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from ablate.data.vocabulary import PAD

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
    tokens: int | None = None  # number of targets that are not PAD; None: not counted yet
    # indices of these targets among all targets; None: no target is PAD, or not counted yet
    real: Int[Tensor, " N"] | None = None

    def with_counts(self) -> "Batch":
        """Return this batch, which must be on the CPU, with `tokens` and `real` filled in.

        On a GPU, training would have to wait for these numbers.
        """
        real = np.flatnonzero(self.targets.numpy() != PAD)
        padded = len(real) < self.targets.numel()
        return self._replace(tokens=len(real), real=torch.from_numpy(real) if padded else None)


# Build a batch from source ids, target ids (each row ends with EOS and is padded with PAD), line
# numbers, and a source of random numbers.
Collate = Callable[[Ids, Ids, Int[np.ndarray, " B"], Draw], Batch]
# Replace targets that the task never scores by PAD; the arguments are those of `Collate`.
Scored = Callable[[Ids, Ids, Int[np.ndarray, " B"], Draw], Ids]
