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

import torch
from jaxtyping import Int
from torch import Tensor
from torch.nn import functional as F

from ablate.config.limits import Count
from ablate.data import PAD
from ablate.model.padding import Columns, NoPadding
from ablate.model.stack import Memory
from ablate.model.transformer import Transformer
from experiments.shared.probe.draws import Measured, RandomModels, moved

PLACES = {
    "encoder": ("encoder", "self_attention"),
    "decoder": ("decoder", "self_attention"),
    "cross": ("decoder", "cross_attention"),
}
SIDES = ("right", "left")


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

    largest = tuple(f"{side}_none" for side in SIDES)
    smallest = tuple(f"{side}_{place}" for side in SIDES for place in (*PLACES, "least"))

    padding: Count

    def draw(self, model: Transformer, generator: torch.Generator) -> Measured:
        """Yield how much padding changes the outputs of one random model at tokens that are not
        padding. SIDE is right or left: padding comes after or before the sentence.

        Yields:
            SIDE_none: change if all three attentions mask padding.
            SIDE_encoder, SIDE_decoder, SIDE_cross: change if the mask of padding is missing in one
                attention: the encoder's self-attention, the decoder's self-attention, or the
                cross-attention.
            SIDE_least: each of these three changes.
        """
        pair = self.sentence_pair(model, generator)
        for place in ("none", *PLACES):
            mask_all_but(model, place)
            alone = outputs(model, *pair)
            for side in SIDES:
                columns = (self.padding, 0) if side == "left" else (0, self.padding)
                padded = outputs(model, *(F.pad(ids, columns, value=PAD) for ids in pair))
                yield f"{side}_{place}", moved(alone, padded)
                if place != "none":
                    yield f"{side}_least", moved(alone, padded)


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
