"""Check whether padding changes the outputs at real tokens.

Equation: the largest |f(x) - f(x in a batch)| over the outputs at real positions, where x is a
    single sentence, and the batch contains longer sentences and `padding` additional columns of PAD
    on both sides.
Source: the masking of tensor2tensor (arXiv:1803.07416); arXiv:1706.03762 does not mention padding.
What differs: random weights in float64, so that rounding errors are negligible.
What to expect: below 1e-12 if columns are masked, above 1e-3 otherwise; NaN if a fully masked row
    is filled with minus infinity (model.attention.fill).
"""

from dataclasses import dataclass
from typing import Annotated, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from ablate.claims.probe.random_models import RandomModels, each_replaced
from ablate.config.limits import Range
from ablate.data.vocabulary import PAD
from ablate.model.transformer import Transformer
from ablate.probe.sentences import random_sentences

SENTENCES = 4


class Outputs(NamedTuple):
    """The outputs of encoder and decoder for a batch, before the projection to the vocabulary."""

    encoder: Float[Tensor, "B S D"]
    decoder: Float[Tensor, "B T D"]


@dataclass(kw_only=True)
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

    measures = (
        "encoder_difference",
        "decoder_difference",
        "nan_share",
        "nan_share_real",
        "control",
    )

    padding: Annotated[int, Range(0)]

    def __call__(self, model: Transformer) -> dict[str, float]:
        """Return the differences between the outputs for a sentence alone and for the same sentence
        in a padded batch, and how many outputs are NaN.

        Returns:
            encoder_difference, decoder_difference: largest absolute difference at tokens that are
                not padding; NaN if an output at such a token is NaN.
            nan_share: fraction of NaN among all outputs for the batches, including padding.
            nan_share_real: fraction of NaN among the outputs at tokens that are not padding.
            control: largest change of the outputs for a single sentence if its first source token
                is replaced, for encoder or decoder, whichever changes less. The smallest value over
                the draws is returned. If it is not large, the comparison detects no differences.
        """
        measurements = [self.draw(*drawn) for drawn in self.models(model)]
        values = {
            name: torch.stack([draw[name] for draw in measurements]) for name in measurements[0]
        }
        control = values.pop("control").min()
        shares = {name: values.pop(name).mean() for name in ("nan_share", "nan_share_real")}
        largest = {name: value.max() for name, value in values.items()}
        return {k: float(v) for k, v in {**largest, **shares, "control": control}.items()}

    @torch.no_grad()
    def draw(self, model: Transformer, generator: torch.Generator) -> dict[str, Tensor]:
        """Return the measurements that `__call__` describes, for one model with random weights."""
        src, tgt = (self._sentences(model, generator) for _ in range(2))
        batch = outputs(model, src, tgt)
        differences: dict[str, list[Tensor]] = {"encoder": [], "decoder": []}
        for row in range(SENTENCES):
            alone = outputs(model, *(ids[row, ids[row] != PAD][None] for ids in (src, tgt)))
            for name, whole, alone_row in zip(differences, batch, alone, strict=True):
                differences[name].append(
                    (whole[row, : alone_row.size(1)] - alone_row[0]).abs().max()
                )
        real = [batch.encoder[src != PAD], batch.decoder[tgt != PAD]]
        return {
            **{f"{name}_difference": torch.stack(d).max() for name, d in differences.items()},
            "nan_share": nan_share(list(batch)),
            "nan_share_real": nan_share(real),
            "control": control(model, src[:1, : int((src[0] != PAD).sum())], tgt[:1, :1]),
        }

    def _sentences(self, model: Transformer, generator: torch.Generator) -> Tensor:
        lengths = torch.randint(1, self.length + 1, (SENTENCES,), generator=generator).tolist()
        ids = random_sentences(model, lengths, generator)
        return torch.nn.functional.pad(ids, (0, self.padding), value=PAD)


def outputs(model: Transformer, src: Tensor, tgt_in: Tensor) -> Outputs:
    """Return the outputs of encoder and decoder for source ids and the decoder's input ids."""
    memory = model.encode(src)
    return Outputs(memory.states, model.decode(tgt_in, memory))


def nan_share(parts: list[Tensor]) -> Tensor:
    """Return the fraction of NaN among all entries of several tensors."""
    numbers = torch.cat([part.flatten() for part in parts])
    return numbers.isnan().double().mean()


def control(model: Transformer, src: Tensor, tgt_in: Tensor) -> Tensor:
    """Return the largest change of an output if the first source token is replaced, for encoder or
    decoder, whichever changes less.
    """
    pairs = zip(
        outputs(model, src, tgt_in), outputs(model, each_replaced(src)[1:2], tgt_in), strict=True
    )
    return torch.stack([(first - two).abs().max() for first, two in pairs]).min()
