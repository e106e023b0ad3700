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

from ablate.model.transformer import Transformer
from experiments.shared.probe.draws import Measured, RandomModels, each_replaced


class Influence(RandomModels):
    """A probe that replaces every token of random sentences, one at a time."""

    largest = ("decoder_future",)
    smallest = ("encoder_other", "source", "decoder_past")

    def draw(self, model: Transformer, generator: torch.Generator) -> Measured:
        """Yield influences for one set of random weights and sentences.

        The influence of a token on an output is the change of the output if the token is replaced.

        Yields:
            encoder_other: influence of a token on the encoder output at another position.
            source: influence of a source token on a decoder output.
            decoder_future: influence of a target token on the decoder output at an earlier
                position.
            decoder_past: largest influence of a target token on the decoder output at its own or a
                later position.
        """
        src, tgt = self.sentence_pair(model, generator)
        diagonal = torch.eye(self.length, dtype=torch.bool)
        changed = each_replaced(src)
        memory = model.encode(changed)
        yield "encoder_other", influence(memory.states)[~diagonal]
        yield "source", influence(model.decode(tgt.expand_as(changed), memory))
        other = each_replaced(tgt)
        target = influence(model.decode(other, model.encode(src.expand_as(other))))
        future = torch.ones_like(diagonal).triu(1)
        yield "decoder_future", target[future]
        yield "decoder_past", target[~future].max()


def influence(states: Float[Tensor, "M L D"]) -> Float[Tensor, "L L"]:
    """Return how much each output (row) changes when each single token (column) is replaced.

    `states` has the states of the original sentence first, and then those of each sentence with one
    replaced token.
    """
    return (states[1:] - states[0]).abs().amax(-1).T
