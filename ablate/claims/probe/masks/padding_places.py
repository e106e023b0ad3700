"""Check which of the three attentions needs the padding mask, with padding on either side.

Equation: the largest |f(x) - f(padded x)| at real tokens, where f are the outputs of both stacks,
    if one of the three attentions has no padding mask, and if all have the mask.
Source: the three places of arXiv:1706.03762, section 3.2.3; the masking of tensor2tensor
    (arXiv:1803.07416).
What differs: random weights in float64; tokens keep their positions despite padding, so that only
    masks matter.
What to expect: no difference with all three masks; on the right, the causal mask also hides padding
    in the decoder; on the left it does not.
"""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor
from torch.nn import functional as F

from ablate.claims.probe.dependence.wires import moved
from ablate.claims.probe.random_models import RandomModels, extremes
from ablate.config.limits import Count
from ablate.data.vocabulary import PAD
from ablate.model.padding.columns import Columns
from ablate.model.padding.none import NoPadding
from ablate.model.sublayer import Memory
from ablate.model.transformer import Transformer
from ablate.probe.sentences import random_sentences

PLACES = {
    "encoder": ("encoder", "self_attention"),
    "decoder": ("decoder", "self_attention"),
    "cross": ("decoder", "cross_attention"),
}
SIDES = ("right", "left")


@dataclass(kw_only=True)
class PaddingPlaces(RandomModels):
    """A probe that removes the padding mask of one attention at a time.

    Args:
        draws: number of models with random weights, each with random sentences.
        length: number of tokens in a random sentence.
        padding: number of padding columns in source and target.
        seed: seed of weights and sentences.

    Raises:
        UserError: `draws` is below 1, `length` is below 2, or `padding` is below 1.
    """

    measures = tuple(f"{side}_{place}" for side in SIDES for place in ("none", *PLACES, "least"))

    padding: Count

    def __call__(self, model: Transformer) -> dict[str, float]:
        """Return how much padding changes the outputs at tokens that are not padding. SIDE is right
        or left: padding comes after or before the sentence.

        Returns:
            SIDE_none: largest change over the draws if all three attentions mask padding.
            SIDE_encoder, SIDE_decoder, SIDE_cross: smallest change over the draws if the mask of
                padding is missing in one attention: the encoder's self-attention, the decoder's
                self-attention, or the cross-attention.
            SIDE_least: the smallest of these three changes.
        """
        measurements = [self.draw(*drawn) for drawn in self.models(model)]
        places = {side: [f"{side}_{place}" for place in PLACES] for side in SIDES}
        values = extremes(measurements, {name for names in places.values() for name in names})
        least = {
            f"{side}_least": float(np.min([values[name] for name in names]))
            for side, names in places.items()
        }
        return values | least

    @torch.no_grad()
    def draw(self, model: Transformer, generator: torch.Generator) -> dict[str, Tensor]:
        """Return the measurements that `__call__` describes, for one model with random weights."""
        pair = [random_sentences(model, [self.length], generator) for _ in range(2)]
        differences = {}
        for place in ("none", *PLACES):
            mask_all_but(model, place)
            alone = outputs(model, pair[0], pair[1])
            for side in SIDES:
                columns = (self.padding, 0) if side == "left" else (0, self.padding)
                padded = [F.pad(ids, columns, value=PAD) for ids in pair]
                differences[f"{side}_{place}"] = moved(alone, outputs(model, padded[0], padded[1]))
        return differences


def mask_all_but(model: Transformer, place: str) -> None:
    """Mask padding in all attentions except those of one kind.

    `place` is the kind without the mask, one of PLACES; "none" if all attentions mask padding.
    """
    for name, (stack, kind) in PLACES.items():
        for layer in getattr(model, stack).layers:
            layer[kind].padding = NoPadding() if name == place else Columns()


def outputs(model: Transformer, src: Int[Tensor, "1 S"], tgt: Int[Tensor, "1 T"]) -> Tensor:
    """Return the outputs of encoder and decoder at tokens that are not padding. Positions are
    counted from the first such token.
    """
    real = [ids != PAD for ids in (src, tgt)]
    at = [(r.cumsum(1) - 1).clamp(min=0) for r in real]
    states = model.encoder(model.embedding.embed_src(src), real[0], positions=at[0])
    memory = Memory(states, real[0])
    decoded = model.decoder(model.embedding.embed_tgt(tgt), real[1], memory, at[1])
    return torch.cat([states[real[0]], decoded[real[1]]])
