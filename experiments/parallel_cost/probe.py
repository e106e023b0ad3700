"""Count dependent operations of a model as a function of sentence length.

Equation: the longest chain of dependent operations: for encoding a source, for training (forward
    and backward), for a pass over a whole target, and for generating the target token by token.
Source: arXiv:1706.03762, table 1, sequential operations: O(1) in attention, O(n) in recurrence.
What differs: counted rather than timed, because a few cores cannot show possible parallelism. A
    matrix product or a softmax counts as one operation, although its sums have depth log n.
What to expect: numbers independent of the length, except for recurrence and for decoding.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor

from ablate.config.limits import Count
from ablate.data import BOS, EOS
from ablate.errors import UserError
from ablate.model import Model, Seq2Seq
from ablate.probe import Probe, loss, random_sentences
from experiments.shared.cost.counting import dependent_steps

SENTENCES = 2


@dataclass(kw_only=True)
class DependentSteps(Probe):
    """A probe that counts the dependent operations of any translation model with an encoder and a
    decoder.

    Args:
        length: number of tokens in each source and each target sentence.
        seed: seed of the sentences.

    Raises:
        UserError: `length` is below 1; when called, the model has no encoder.
    """

    needs = Model
    measures = ("encoding", "encoding_in_training", "training", "whole_target", "decoding")

    length: Count
    seed: int

    def __call__(self, model: Any) -> dict[str, float]:
        """Return the length of the longest chain of dependent operations in five computations.

        Returns:
            encoding: the encoder reads the sources.
            encoding_in_training: the encoder reads the sources in training mode, with gradients.
            training: forward and backward pass of a training step.
            whole_target: a forward pass over sources and whole targets.
            decoding: greedy search, which generates the targets token by token.
        """
        if not hasattr(model, "encode"):
            raise UserError(
                f"probe=dependent_steps counts the operations of an encoder, but model is "
                f"{type(model).__name__}, which has none: choose a model with an encoder and a "
                "decoder, such as micro or rnn"
            )
        generator = torch.Generator().manual_seed(self.seed)
        src, tgt = (random_sentences(model, [self.length] * SENTENCES, generator) for _ in range(2))
        works: dict[str, tuple[bool, Callable[[], object]]] = {
            "encoding": (False, lambda: model.encode(src)),
            "encoding_in_training": (True, lambda: model.encode(src)),
            "training": (True, lambda: step(model, src, tgt)),
            "whole_target": (False, lambda: model(Seq2Seq(src, tgt))),
            "decoding": (False, lambda: chosen(model, src, self.length)),
        }
        counts = {}
        for name, (training, work) in works.items():
            model.train(training)
            with torch.set_grad_enabled(training):
                counts[name] = dependent_steps(work)
        return counts


def step(model: Any, src: Int[Tensor, "B S"], tgt: Int[Tensor, "B T"]) -> Tensor:
    """Compute the gradients of a batch, and return the loss of the batch."""
    model.zero_grad()
    objective = loss(model, src, tgt)
    torch.autograd.backward(objective)
    return objective


def chosen(model: Any, src: Int[Tensor, "B S"], length: int) -> Int[Tensor, " B"]:
    """Generate `length` tokens greedily, and return the last token of each sentence."""
    state = model.start(src, beams=1)
    tokens = torch.full_like(src[:, 0], BOS)
    for _ in range(length):
        # EOS is excluded, so that all targets have this length
        tokens = model.head(model.step(tokens, state))[:, EOS + 1 :].argmax(1) + EOS + 1
    return tokens
