"""Check whether padding changes the outputs at real tokens.

Equation: the largest |f(x) - f(x in a batch)| over the outputs at real positions, where x is a
    single sentence, and the batch contains longer sentences and `padding` additional columns of PAD
    on both sides.
Source: the masking of tensor2tensor (arXiv:1803.07416); arXiv:1706.03762 does not mention padding.
What differs: random weights in float64, so that rounding errors are negligible.
What to expect: below 1e-12 if columns are masked, above 1e-3 otherwise; NaN if a fully masked row
    is filled with minus infinity (model.attention.fill).
"""

from typing import Annotated, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from ablate.config.limits import Range
from ablate.data import PAD
from ablate.model.transformer import Transformer
from ablate.probe import random_sentences
from experiments.shared.probe.draws import Measured, RandomModels, each_replaced, moved

SENTENCES = 4


class Outputs(NamedTuple):
    """The outputs of encoder and decoder for a batch, before the projection to the vocabulary."""

    encoder: Float[Tensor, "B S D"]
    decoder: Float[Tensor, "B T D"]


class PaddingOutputs(RandomModels):
    """A probe that compares single random sentences with padded batches.

    Args:
        draws: number of models with random weights, each with a batch of random sentences.
        length: maximum number of tokens in a random sentence.
        padding: number of padding columns after the longest sentence of a batch.
        seed: seed of weights and batches.

    Raises:
        UserError: `draws` is below 1, `length` below 2, or `padding` below 0.
    """

    largest = ("encoder_difference", "decoder_difference")
    smallest = ("control",)
    mean = ("nan_share", "nan_share_real")

    padding: Annotated[int, Range(0)]

    def draw(self, model: Transformer, generator: torch.Generator) -> Measured:
        """Yield the differences between the outputs for a sentence alone and for the same sentence
        in a padded batch, and how many outputs are NaN, for one model with random weights.

        Yields:
            encoder_difference, decoder_difference: absolute difference at tokens that are not
                padding; NaN if an output at such a token is NaN.
            nan_share: fraction of NaN among all outputs for the batch, including padding.
            nan_share_real: fraction of NaN among the outputs at tokens that are not padding.
            control: largest change of the outputs for a single sentence if its first source token
                is replaced, for encoder or decoder. If it is not large, the comparison detects no
                differences.
        """
        src, tgt = (self._sentences(model, generator) for _ in range(2))
        batch = outputs(model, src, tgt)
        for row in range(SENTENCES):
            alone = outputs(model, *(ids[row, ids[row] != PAD][None] for ids in (src, tgt)))
            for name, whole, states in zip(Outputs._fields, batch, alone, strict=True):
                yield f"{name}_difference", moved(whole[row, : states.size(1)], states[0])
        yield "nan_share", nan_share(batch)
        yield "nan_share_real", nan_share((batch.encoder[src != PAD], batch.decoder[tgt != PAD]))
        first = src[:1, : int((src[0] != PAD).sum())]
        pair = (outputs(model, ids, tgt[:1, :1]) for ids in (first, each_replaced(first)[1:2]))
        for states, other in zip(*pair, strict=True):
            yield "control", moved(states, other)

    def _sentences(self, model: Transformer, generator: torch.Generator) -> Tensor:
        lengths = torch.randint(1, self.length + 1, (SENTENCES,), generator=generator).tolist()
        ids = random_sentences(model, lengths, generator)
        return torch.nn.functional.pad(ids, (0, self.padding), value=PAD)


def outputs(model: Transformer, src: Tensor, tgt_in: Tensor) -> Outputs:
    """Return the outputs of encoder and decoder for source ids and the decoder's input ids."""
    memory = model.encode(src)
    return Outputs(memory.states, model.decode(tgt_in, memory))


def nan_share(parts: tuple[Tensor, ...]) -> Tensor:
    """Return the fraction of NaN among all entries of several tensors."""
    return torch.cat([part.flatten() for part in parts]).isnan().double().mean()
