"""Compare causal masks before and after the softmax, and with and without the diagonal.

Equation: for scores s: before: softmax(s where kept, else -inf); after: softmax(s) where kept, else
    0; renormalised: the weights of "after" divided by their sum; past_only: as "before", but each
    word is also hidden from itself; past_only_finite: the same with the smallest finite number
    instead of -inf; none: softmax(s); inverted: as "before", but earlier words are hidden instead
    of later ones.
Source: arXiv:1706.03762, sections 3.1 (outputs are shifted by one position) and 3.2.3.
What differs: random weights and sentences in float64; only the self-attention of the decoder is
    replaced.
What to expect: with "after", later words change the weights of earlier words, because the sum in
    the softmax contains them; "renormalised" equals "before" unless the sum underflows; "past_only"
    leaves the first row without a key, but the skip connection still passes each word to its row.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from ablate.model.attention import Kernel
from ablate.model.padding import Mask
from ablate.model.transformer import Transformer
from experiments.shared.probe.draws import Measured, RandomModels, each_replaced, moved
from experiments.shared.probe.influence import influence

WAYS = ("before", "after", "renormalised", "past_only", "past_only_finite", "none", "inverted")
FAR = 200.0  # if one score is larger than all others by FAR, their weights are 0 in float32


class Masked(Kernel):
    """An attention kernel without dropout that applies the causal mask before or after the softmax.

    Args:
        way: one of WAYS, such as "before" (scores of masked keys are -inf), "after" (attention
            weights of masked keys are 0) or "none"; the module docstring describes each.
    """

    def __init__(self, way: str) -> None:
        super().__init__()
        self.way = way

    def forward(
        self,
        q: Float[Tensor, "B H Q E"],
        k: Float[Tensor, "B H K E"],
        v: Float[Tensor, "B H K W"],
        mask: Mask,
        bias: Tensor | None,
    ) -> Float[Tensor, "B H Q W"]:
        """Return the sum of values, weighted by the attention weights.

        The causal mask is applied as `way` says. The arguments `mask` and `bias` are ignored.
        """
        return self.weights(q @ k.mT * q.size(-1) ** -0.5) @ v

    def weights(self, scores: Float[Tensor, "*B Q K"]) -> Float[Tensor, "*B Q K"]:
        """Return the attention weights of the keys for each query, with the causal mask applied."""
        square = torch.ones(scores.shape[-2:], dtype=torch.bool)
        if self.way == "none":
            return scores.softmax(-1)
        if self.way in ("after", "renormalised"):
            kept = scores.softmax(-1).masked_fill(~square.tril(), 0.0)
            return kept if self.way == "after" else kept / kept.sum(-1, keepdim=True)
        keep = {"before": square.tril(), "inverted": square.triu()}.get(self.way, square.tril(-1))
        finite = self.way == "past_only_finite"
        fill = torch.finfo(scores.dtype).min if finite else -torch.inf
        return scores.masked_fill(~keep, fill).softmax(-1)


class CausalMasks(RandomModels):
    """A probe that replaces words of random sentences in decoders with different placements of the
    causal mask.
    """

    largest = ("before_later", "renormalised_difference", "renormalised_far")
    smallest = (
        *("after_later", "after_row_error", "none_later", "inverted_later", "past_only_nan"),
        *("past_only_later", "own_word", "own_past_only", "encoder_later", "source"),
    )

    def draw(self, model: Transformer, generator: torch.Generator) -> Measured:
        """Yield the measurements of one model with random weights and sentences.

        A row is the output of a stack at one position. WAY is one of WAYS, which the module
        docstring describes.

        Yields:
            WAY_later: largest change of a decoder row if a later word is replaced. The
                measurements are before_later, after_later, none_later, inverted_later, and
                past_only_later, which uses past_only_finite.
            after_row_error: largest deviation from 1 of the sum of a query's attention weights if
                the mask is applied after the softmax ("after").
            renormalised_difference: largest difference between the outputs of "renormalised" and
                "before".
            renormalised_far: fraction of attention weights of "renormalised" that are NaN in
                float32 if the score of a later word is larger by FAR.
            past_only_nan: fraction of NaN in the outputs of "past_only".
            own_word: largest change of a decoder row of "before" if the word at this position is
                replaced.
            own_past_only: largest such change of a decoder row of "past_only_finite".
            encoder_later: change of an encoder row if a later word is replaced.
            source: change of a decoder row of "before" if a source word is replaced.
        """
        src, tgt = self.sentence_pair(model, generator)
        words, sources = each_replaced(tgt), each_replaced(src)
        memory = model.encode(src.expand_as(words))
        states = {way: masked(model, way).decode(words, memory) for way in WAYS}
        effects = {way: influence(rows) for way, rows in states.items()}
        later = torch.ones_like(effects["before"], dtype=torch.bool).triu(1)
        for way in ("before", "after", "none", "inverted"):
            yield f"{way}_later", effects[way][later].max()
        yield "past_only_later", effects["past_only_finite"][later].max()
        yield "past_only_nan", states["past_only"].isnan().double().mean()
        yield "renormalised_difference", moved(states["renormalised"], states["before"])
        yield "own_word", effects["before"].diagonal().max()
        yield "own_past_only", effects["past_only_finite"].diagonal().max()
        read = model.encode(sources)
        yield "encoder_later", influence(read.states)[later]
        yield "source", influence(masked(model, "before").decode(tgt.expand_as(sources), read))
        scores = torch.randn(self.length, self.length, generator=generator).double()
        yield "after_row_error", moved(Masked("after").weights(scores).sum(-1), 1.0)
        far = torch.zeros(2, 2)
        far[0, 1] = FAR
        yield "renormalised_far", Masked("renormalised").weights(far).isnan().double().mean()


def masked(model: Transformer, way: str) -> Transformer:
    """Apply the causal mask `way`, one of WAYS, in each self-attention of the decoder, and return
    the model, which is changed in place.
    """
    layer: nn.ModuleDict
    for layer in model.decoder.layers:  # type: ignore[assignment]
        layer["self_attention"].kernel = Masked(way)
    return model
