"""Check row sums of attention weights, and weights on padding and on later tokens.

Equation: the rows of softmax(q k^T / sqrt(d_head)), over the keys that the masks leave.
Source: arXiv:1706.03762, sections 3.2.1 and 3.2.3.
What differs: random weights and sentences in float64, without dropout; the second sentence of a
    batch is half as long as the first, and only rows of real tokens count.
What to expect: rows sum to 1 up to rounding; later target tokens and masked padding get no weight.
    Without a mask, padding gets weight like any other key, except in the decoder's self-attention,
    where it stands to the right of all real tokens.
"""

from collections import defaultdict

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from ablate.claims.probe.random_models import ExtremesOfModels
from ablate.data.vocabulary import PAD
from ablate.errors import UserError
from ablate.model.base import Seq2Seq
from ablate.model.inspect import attention_weights
from ablate.model.transformer import Transformer
from ablate.probe.sentences import random_sentences


class AttentionWeights(ExtremesOfModels):
    """A probe of the attention weights in every attention of encoder and decoder."""

    least = ("column_error", "encoder_future", "padding_source")
    measures = (
        "row_error",
        "column_error",
        "future",
        "encoder_future",
        "past_error",
        "padding",
        "padding_cross",
        "padding_target",
        "padding_source",
    )

    def draw(self, model: Transformer, generator: torch.Generator) -> dict[str, Tensor]:
        """Return the measurements for one model with random weights: the largest or smallest values
        over all layers, heads and rows of attention weights.

        For `column_error` and `encoder_future`, the largest value of each layer and head is taken,
        and the smallest of these values is returned.

        Returns:
            row_error: largest deviation of a row sum from 1.
            column_error: largest deviation from 1 of the total weight that a token receives, in a
                sentence without padding.
            future: largest weight on a later target token.
            encoder_future: largest total weight of a source token on later source tokens.
            past_error: largest difference between 1 and the sum of the attention weights of a
                target token on itself and on earlier target tokens; 0 up to rounding under a causal
                mask.
            padding: largest total weight of a row on padding, in any attention.
            padding_cross, padding_target: largest total weight of a row on padding in
                cross-attention, and in the decoder's self-attention.
            padding_source: smallest total weight of a row on padding of the source, in encoder
                self-attention and cross-attention.

        Raises:
            UserError: an attention of the model has no weights that sum to 1 over the keys.
        """
        lengths = [self.length, self.length // 2]
        src, tgt = (random_sentences(model, lengths, generator) for _ in range(2))
        sides = {
            "encoder.self": (src, src),
            "decoder.self": (tgt, tgt),
            "decoder.cross": (tgt, src),
        }
        weights = by_kind(attention_weights(model, Seq2Seq(src, tgt)))
        if missing := sides.keys() - weights:
            raise UserError(
                "probe=attention_weights needs attention weights that sum to 1 over the keys: "
                f"choose another option of model/attention for {', '.join(sorted(missing))}"
            )
        sums, padding = sums_of_rows(weights, sides)
        real, real_src = ((ids != PAD)[:, :, None] for ids in (tgt, src))
        later = torch.ones(self.length, self.length, dtype=torch.bool).triu(1)
        columns = torch.cat([received[0].sum(-2) for received in weights.values()])
        onto_past = (weights["decoder.self"] * ~later).sum(-1, keepdim=True)
        onto_later = (weights["encoder.self"] * later).sum(-1, keepdim=True)
        return {
            "row_error": (torch.cat(list(sums.values())) - 1).abs().max(),
            "column_error": (columns - 1).abs().amax(-1).min(),
            "future": chosen(weights["decoder.self"], real & later).max(),
            "encoder_future": chosen(onto_later, real_src).amax(0).min(),
            "past_error": (chosen(onto_past, real) - 1).abs().max(),
            "padding": torch.cat(list(padding.values())).max(),
            "padding_cross": padding["decoder.cross"].max(),
            "padding_target": padding["decoder.self"].max(),
            "padding_source": torch.cat([padding["encoder.self"], padding["decoder.cross"]]).min(),
        }


def sums_of_rows(
    weights: dict[str, Float[Tensor, "B N H Q K"]],
    sides: dict[str, tuple[Int[Tensor, "B Q"], Int[Tensor, "B K"]]],
) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Return, for each kind of attention, the total weight of each row on all keys, and on padding.

    Only rows of real tokens are counted, and for padding only sentences whose keys have padding.

    Args:
        weights: attention weights of N layers and H heads, for each kind of attention.
        sides: token ids that make the queries, and token ids that make the keys.
    """
    sums, padding = {}, {}
    for kind, (queries, keys) in sides.items():
        real = (queries != PAD)[:, :, None]
        sums[kind] = chosen(weights[kind].sum(-1, keepdim=True), real)
        padded = (keys == PAD)[:, None]
        onto = (weights[kind] * padded[:, None, None]).sum(-1, keepdim=True)
        padding[kind] = chosen(onto, real & padded.any(-1, keepdim=True))
    return sums, padding


def by_kind(weights: dict[str, Float[Tensor, "B H Q K"]]) -> dict[str, Float[Tensor, "B N H Q K"]]:
    """Return the weights stacked over the N layers, for each kind of attention, such as
    "encoder.self".
    """
    layers_of: defaultdict[str, list[Tensor]] = defaultdict(list)
    for name, layer in weights.items():
        stack, _, kind = name.split(".")
        layers_of[f"{stack}.{kind}"].append(layer)
    return {kind: torch.stack(layers, 1) for kind, layers in layers_of.items()}


def chosen(
    weights: Float[Tensor, "B N H Q K"], pairs: Bool[Tensor, "B Q K"]
) -> Float[Tensor, "P N H"]:
    """Return the attention weights of selected pairs of a query and a key, for N layers and H
    heads.
    """
    return weights.movedim((3, 4), (1, 2))[pairs]
