"""Check whether the order of the tokens affects the output of a model.

Equation: let s be a permutation of the tokens, f the encoder, and g the decoder. The results are
    the largest |f(x)_s(i) - f(x_s)_i| over the encoder states, the largest |g(x, y) - g(x_s, y)|
    over the decoder states if the source is permuted, and |g(x, y)_T - g(x, y_s)_T| at the last
    position if the target tokens before it are permuted.
Source: arXiv:1706.03762, section 3.5, which adds positions so that the model can use the order.
What differs: random weights in float64, so that invariance shows as 0 up to rounding.
What to expect: without positions, 0 for both source measurements. For the target, 0 in a decoder of
    one layer; a second layer can infer positions from the causal mask (arXiv:2305.19466).
"""

from dataclasses import dataclass
from typing import Annotated

import torch
from jaxtyping import Int
from torch import Tensor

from ablate.claims.probe.random_models import RandomModels
from ablate.config.limits import Range
from ablate.model.transformer import Transformer
from ablate.probe.sentences import random_sentences


@dataclass(kw_only=True)
class WordOrder(RandomModels):
    """A probe that permutes the tokens of random sentences."""

    measures = (
        *("encoder", "source", "target", "largest"),
        *("encoder_least", "source_least", "target_least"),
    )

    length: Annotated[int, Range(3)]

    def __call__(self, model: Transformer) -> dict[str, float]:
        """Return how much the outputs change if the tokens are reordered. Each value is the largest
        over all random models, each with random sentences, unless stated otherwise.

        Returns:
            encoder: change of the encoder outputs if the source is reordered; the outputs are
                compared word by word.
            source: change of the decoder outputs if the source is reordered.
            target: change of the last decoder output if the target tokens before it are reordered.
            largest: the maximum of these three.
            encoder_least, source_least, target_least: the smallest change over all random models.
        """
        changes = [self.draw(*drawn) for drawn in self.models(model)]
        encoder, source, target = torch.tensor(changes, dtype=torch.float64).unbind(1)
        moved = {"encoder": encoder, "source": source, "target": target}
        return {
            **{name: float(values.max()) for name, values in moved.items()},
            **{f"{name}_least": float(values.min()) for name, values in moved.items()},
            "largest": float(torch.stack([*moved.values()]).max()),
        }

    @torch.no_grad()
    def draw(self, model: Transformer, generator: torch.Generator) -> list[Tensor]:
        """Return three changes of outputs for one set of random weights and sentences: `encoder`,
        `source` and `target`, in this order.

        `__call__` describes these changes.
        """
        src, tgt = (random_sentences(model, [self.length], generator) for _ in range(2))
        order = shuffled(self.length, generator)
        before = torch.cat([shuffled(self.length - 1, generator), order.new_tensor([-1])])
        memory, permuted = model.encode(src), model.encode(src[:, order])
        decoded = model.decode(tgt, memory)
        return [
            (memory.states[:, order] - permuted.states).abs().max(),
            (decoded - model.decode(tgt, permuted)).abs().max(),
            (decoded[:, -1] - model.decode(tgt[:, before], memory)[:, -1]).abs().max(),
        ]


def shuffled(length: int, generator: torch.Generator) -> Int[Tensor, " L"]:
    """Return a random permutation that is not the identity."""
    order = torch.randperm(length, generator=generator)
    return order if (order != torch.arange(length)).any() else order.flip(0)
