"""Check which outputs depend on which tokens.

Equation: I[i, j] = max |f_i(x) - f_i(x')|, f_i the last state at position i, and x' the sentence x
    with another token at position j.
Source: the claims of arXiv:1706.03762, section 4 (any two positions are one step apart), and of
    section 3.2.3 (no position of the decoder sees a later one).
What differs: random weights in float64, so that independence shows as 0 up to rounding. The probe
    asks whether an output depends on a token, not how strongly it does after training.
What to expect: every encoder output depends on every token, and every decoder output on every
    source token, for any number of layers; the decoder has 0 above the diagonal.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from ablate.claims.probe.random_models import RandomModels, each_replaced
from ablate.model.transformer import Transformer
from ablate.probe.sentences import random_sentences


class Influence(RandomModels):
    """A probe that replaces every token of random sentences, one at a time."""

    measures = ("encoder_other", "source", "decoder_future", "decoder_past")

    def __call__(self, model: Transformer) -> dict[str, float]:
        """Return the smallest or largest influences over all draws of random weights and sentences.

        The influence of a token on an output is the change of the output if the token is replaced.

        Returns:
            encoder_other: smallest influence of a token on the encoder output at another position.
            source: smallest influence of a source token on a decoder output.
            decoder_future: largest influence of a target token on the decoder output at an earlier
                position.
            decoder_past: influence of a target token on the decoder output at its own or a later
                position. The largest influence of each draw is taken, and the smallest of these
                values is returned.
        """
        matrices_of_draw = [self.draw(*drawn) for drawn in self.models(model)]
        encoder, source, target = (
            torch.stack(matrices) for matrices in zip(*matrices_of_draw, strict=True)
        )
        diagonal = torch.eye(self.length, dtype=torch.bool)
        future = torch.ones_like(diagonal).triu(1)
        return {
            "encoder_other": float(encoder[:, ~diagonal].min()),
            "source": float(source.min()),
            "decoder_future": float(target[:, future].max()),
            "decoder_past": float(target[:, ~future].amax(1).min()),
        }

    @torch.no_grad()
    def draw(self, model: Transformer, generator: torch.Generator) -> list[Tensor]:
        """Return three matrices, for one set of random weights and sentences: the influence of
        source tokens on encoder outputs, of source tokens on decoder outputs, and of target tokens
        on decoder outputs.

        Row i, column j of a matrix is the largest change of output i if token j is replaced.
        """
        lengths = [self.length]
        src, tgt = (random_sentences(model, lengths, generator) for _ in range(2))
        changed = each_replaced(src)
        memory = model.encode(changed)
        decoded = model.decode(tgt.expand_as(changed), memory)
        other = each_replaced(tgt)
        redecoded = model.decode(other, model.encode(src.expand_as(other)))
        return [influence(states) for states in (memory.states, decoded, redecoded)]


def influence(states: Float[Tensor, "M L D"]) -> Float[Tensor, "L L"]:
    """Return how much each output (row) changes when each single token (column) is replaced.

    `states` has the states of the original sentence first, and then those of each sentence with one
    replaced token.
    """
    return (states[1:] - states[0]).abs().amax(-1).T
