"""Measure the cost of a training step per token: processor time, operations, and memory.

Equation: a step is forward pass, loss and backward pass for the first `sentences` rows of the
    training split, without the optimiser. All three results are divided by the number of tokens:
    microseconds, the median processor time of `repeats` steps; operations, the floating-point
    operations of all matrix products; bytes, the size of the tensors that autograd stores for the
    backward pass, without parameters.
Source: torch.autograd.graph.saved_tensors_hooks; `ablate.model.operations` counts the operations.
What differs: the time is processor time and not wall time, so that other processes matter less.
    Operations other than matrix products, such as norms and activations, are not counted.
What to expect: operations and bytes are the same on every machine. Microseconds depend on the
    machine and its number of threads, and vary by some per cent between runs.
"""

import statistics
import time
from typing import Any

import torch
from torch import Tensor

from ablate.config.limits import Count
from ablate.data.module import TextData
from ablate.data.pairs import Corpus
from ablate.data.vocabulary import PAD
from ablate.loss import CrossEntropy
from ablate.measure.base import Measure
from ablate.model.base import Model
from ablate.model.operations import product_counter

WARM_UP = 2  # steps before the timed ones


class TrainingCost(Measure):
    """Measures time, operations and memory of training steps on training text, in float32.

    Args:
        sentences: number of rows in the batch: sentence pairs, texts, or contexts.
        repeats: number of timed training steps, whose median time is reported.
    """

    needs = Model
    knows = Corpus
    measures = ("microseconds", "operations", "bytes")

    def __init__(self, *, sentences: Count, repeats: Count) -> None:
        self.sentences, self.repeats = sentences, repeats

    def __call__(self, model: Any, data: TextData) -> dict[str, float]:
        """Return the cost of a training step per token: microseconds, operations and bytes."""
        model = model.float().train()
        batch = data.first_lines("train", self.sentences)
        real = batch.targets != PAD
        loss, tokens = CrossEntropy(), int(real.sum())

        def step() -> None:
            states = model(batch.inputs)[real]
            torch.autograd.backward(model.head.score(loss, states, batch.targets[real])[0])

        with torch.enable_grad():
            kept = _kept_bytes(step, model)
            with product_counter() as counter:
                step()
            seconds = _seconds(step, self.repeats)
        return {
            "microseconds": 1e6 * seconds / tokens,
            "operations": counter.get_total_flops() / tokens,
            "bytes": kept / tokens,
        }


def _kept_bytes(step: Any, model: Model) -> int:
    """Return the total size, in bytes, of the tensors that autograd stores for a backward pass.

    `step` is a function that makes a training step.
    """
    parameters = {p.untyped_storage().data_ptr() for p in model.parameters()}
    sizes: dict[int, int] = {}
    alive: list[Tensor] = []  # keeps tensors alive, so that no address is reused

    def pack(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in parameters:
            alive.append(tensor)
            sizes[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        step()
    return sum(sizes.values())


def _seconds(step: Any, repeats: int) -> float:
    """Return the median processor time, in seconds, of a training step.

    `step` is a function that makes the step; it is timed `repeats` times after some warm-up.
    """
    times = []
    for _ in range(WARM_UP + repeats):
        start = time.process_time()
        step()
        times.append(time.process_time() - start)
    return statistics.median(times[WARM_UP:])
