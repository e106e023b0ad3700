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

from typing import Annotated

import torch
from jaxtyping import Int
from torch import Tensor

from ablate.config.limits import Range
from ablate.model.transformer import Transformer
from experiments.shared.probe.draws import Measured, RandomModels, moved


class WordOrder(RandomModels):
    """A probe that permutes the tokens of random sentences."""

    largest = ("encoder", "source", "target", "largest")
    smallest = ("encoder_least", "source_least", "target_least")

    length: Annotated[int, Range(3)]

    def draw(self, model: Transformer, generator: torch.Generator) -> Measured:
        """Yield how much the outputs of one random model change if the tokens are reordered.

        Yields:
            encoder: change of the encoder outputs if the source is reordered; the outputs are
                compared word by word.
            source: change of the decoder outputs if the source is reordered.
            target: change of the last decoder output if the target tokens before it are reordered.
            largest: each of these three changes.
            encoder_least, source_least, target_least: the same changes, of which the probe reports
                the smallest value over all random models.
        """
        src, tgt = self.sentence_pair(model, generator)
        order = shuffled(self.length, generator)
        before = torch.cat([shuffled(self.length - 1, generator), order.new_tensor([-1])])
        memory, permuted = model.encode(src), model.encode(src[:, order])
        decoded = model.decode(tgt, memory)
        for name, change in (
            ("encoder", moved(memory.states[:, order], permuted.states)),
            ("source", moved(decoded, model.decode(tgt, permuted))),
            ("target", moved(decoded[:, -1], model.decode(tgt[:, before], memory)[:, -1])),
        ):
            yield name, change
            yield f"{name}_least", change
            yield "largest", change


def shuffled(length: int, generator: torch.Generator) -> Int[Tensor, " L"]:
    """Return a random permutation that is not the identity."""
    order = torch.randperm(length, generator=generator)
    return order if (order != torch.arange(length)).any() else order.flip(0)
