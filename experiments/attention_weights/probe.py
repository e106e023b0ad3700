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
from jaxtyping import Bool, Float
from torch import Tensor

from ablate.data import PAD
from ablate.errors import UserError
from ablate.model import Seq2Seq
from ablate.model.attention import attention_weights
from ablate.model.transformer import Transformer
from ablate.probe import random_sentences
from experiments.shared.probe.draws import Measured, RandomModels, moved


class AttentionWeights(RandomModels):
    """A probe of the attention weights in every attention of encoder and decoder."""

    smallest = ("column_error", "encoder_future", "padding_source")
    largest = ("row_error", "future", "past_error", "padding", "padding_cross", "padding_target")

    def draw(self, model: Transformer, generator: torch.Generator) -> Measured:
        """Yield the measurements of one model with random weights: for all layers, heads and rows
        of attention weights, unless stated otherwise.

        Only rows of real tokens count, and for padding only sentences whose keys have padding.

        Yields:
            row_error: deviation of a row sum from 1.
            column_error: deviation from 1 of the total weight that a token receives, in a sentence
                without padding; the largest value of each layer and head.
            future: weight on a later target token.
            encoder_future: total weight of a source token on later source tokens; the largest value
                of each layer and head.
            past_error: difference between 1 and the sum of the attention weights of a target token
                on itself and on earlier target tokens; 0 up to rounding under a causal mask.
            padding: total weight of a row on padding, in any attention.
            padding_cross, padding_target: total weight of a row on padding in cross-attention, and
                in the decoder's self-attention.
            padding_source: total weight of a row on padding of the source, in encoder
                self-attention and cross-attention.

        Raises:
            UserError: an attention of the model has no weights that sum to 1 over the keys.
        """
        lengths = [self.length, self.length // 2]
        src, tgt = (random_sentences(model, lengths, generator) for _ in range(2))
        sides = {
            "encoder.self": (src, src, ("padding_source",)),
            "decoder.self": (tgt, tgt, ("padding_target",)),
            "decoder.cross": (tgt, src, ("padding_source", "padding_cross")),
        }
        weights = by_kind(attention_weights(model, Seq2Seq(src, tgt)))
        if missing := sides.keys() - weights:
            raise UserError(
                "probe=attention_weights needs attention weights that sum to 1 over the keys: "
                f"choose another option of model/attention for {', '.join(sorted(missing))}"
            )
        for kind, (queries, keys, names) in sides.items():
            real, padding = (queries != PAD)[:, :, None], (keys == PAD)[:, None]
            sums = weights[kind].sum(-1, keepdim=True)
            onto_padding = (weights[kind] * padding[:, None, None]).sum(-1, keepdim=True)
            yield "row_error", moved(chosen(sums, real), 1.0)
            yield "column_error", (weights[kind][0].sum(-2) - 1).abs().amax(-1)
            for name in ("padding", *names):
                yield name, chosen(onto_padding, real & padding.any(-1, keepdim=True))
        real, real_src = ((ids != PAD)[:, :, None] for ids in (tgt, src))
        later = torch.ones(self.length, self.length, dtype=torch.bool).triu(1)
        onto_past = (weights["decoder.self"] * ~later).sum(-1, keepdim=True)
        onto_later = (weights["encoder.self"] * later).sum(-1, keepdim=True)
        yield "future", chosen(weights["decoder.self"], real & later)
        yield "encoder_future", chosen(onto_later, real_src).amax(0)
        yield "past_error", moved(chosen(onto_past, real), 1.0)


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
