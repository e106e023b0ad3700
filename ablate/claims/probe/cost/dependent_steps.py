"""How many operations of a model wait for each other, by the length of its sentences.

Equation: the longest chain of operations of which each reads what the one before wrote: in encoding
    a source, in training (forward and backward), in a pass over a whole target, and in choosing the
    target's tokens one after the other.
Source: arXiv:1706.03762, table 1, sequential operations: O(1) in attention, O(n) in recurrence.
What differs: counted, not timed, as few cores show nothing of what could be done at once. A matrix
    product or a softmax is one operation, whose sums have a depth of about log n.
What to expect: numbers that do not depend on the length, but for recurrence, and for decoding.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor

from ablate.claims.probe.cost.counting import dependent_steps
from ablate.config.limits import Count
from ablate.data.vocabulary import BOS, EOS
from ablate.model.base import Model, Seq2Seq
from ablate.probe.base import Probe
from ablate.probe.sentences import random_sentences
from ablate.probe.step_time import loss

SENTENCES = 2


@dataclass(kw_only=True)
class DependentSteps(Probe):
    """Counts the steps of a translator, whatever it is made of.

    Args:
        length: tokens of a sentence, on either side.
        seed: of the sentences.

    Raises:
        UserError: `length` is below 1.
    """

    needs = Model
    measures = (
        *("encoding", "encoding_in_training", "training", "whole_target", "decoding"),
        *("encoding_each", "training_each", "decoding_each"),
    )

    length: Count
    seed: int

    def __call__(self, model: Any) -> dict[str, float]:
        """Return the dependent steps; `..._each` are those per token of a sentence."""
        generator = torch.Generator().manual_seed(self.seed)
        src, tgt = (random_sentences(model, [self.length] * SENTENCES, generator) for _ in range(2))
        works: dict[str, tuple[bool, Callable[[], object]]] = {
            "encoding": (False, lambda: model.encode(src)),
            "encoding_in_training": (True, lambda: model.encode(src)),
            "training": (True, lambda: step(model, src, tgt)),
            "whole_target": (False, lambda: model(Seq2Seq(src, tgt))),
            "decoding": (False, lambda: chosen(model, src, self.length)),
        }
        found = {}
        for name, (training, work) in works.items():
            model.train(training)
            with torch.set_grad_enabled(training):
                found[name] = dependent_steps(work)
        each = ("encoding", "training", "decoding")
        return found | {f"{name}_each": found[name] / self.length for name in each}


def step(model: Any, src: Int[Tensor, "B S"], tgt: Int[Tensor, "B T"]) -> Tensor:
    """Take the gradients of a batch; return its loss."""
    model.zero_grad()
    objective = loss(model, src, tgt)
    torch.autograd.backward(objective)
    return objective


def chosen(model: Any, src: Int[Tensor, "B S"], length: int) -> Int[Tensor, " B"]:
    """Choose `length` tokens one after the other, as greedy search does; return the last."""
    state = model.start(src, beams=1)
    tokens = torch.full_like(src[:, 0], BOS)
    for _ in range(length):
        # never EOS, so that all targets have this length
        tokens = model.head(model.step(tokens, state))[:, EOS + 1 :].argmax(1) + EOS + 1
    return tokens
