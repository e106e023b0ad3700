"""Where the look-ahead mask stands, and whether it leaves the diagonal.

Equation: before: softmax(s where kept, else -inf); after: softmax(s) where kept, else 0;
    renormalised: that over its sum; past_only: the diagonal masked as well; none; inverted.
Source: arXiv:1706.03762, sections 3.1 (outputs are shifted by one position) and 3.2.3.
What differs: random weights and sentences in float64; every self-attention of the decoder is
    replaced, the rest of the model is as it is.
What to expect: after lets later words act through the sum; renormalised is before, until the sum
    underflows; past_only leaves the first row without a key, and the skip carries a row its own
    word all the same.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from ablate.claims.probe.dependence.influence import influence
from ablate.claims.probe.dependence.wires import moved
from ablate.claims.probe.random_models import RandomModels, each_replaced
from ablate.model.attention.base import Kernel
from ablate.model.padding.base import Mask
from ablate.model.transformer import Transformer
from ablate.probe.sentences import random_sentences

WAYS = ("before", "after", "renormalised", "past_only", "past_only_finite", "none", "inverted")
# of all draws the largest counts, but for these the smallest
LEAST = (
    *("after_later", "after_row_error", "none_later", "inverted_later", "past_only_nan"),
    *("past_only_later", "own_word", "own_past_only", "encoder_later", "source"),
)
FAR = 200.0  # a later score so far above the others leaves them no weight in float32


class Masked(Kernel):
    """Explicit attention without dropout whose look-ahead mask stands where `way` says."""

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
        """Return the mixed values; what else the mask says is left out."""
        return self.weights(q @ k.mT * q.size(-1) ** -0.5) @ v

    def weights(self, scores: Float[Tensor, "*B Q K"]) -> Float[Tensor, "*B Q K"]:
        """Return the weights of the keys."""
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
    """Replaces the words of random sentences, with the mask in different places."""

    measures = (
        *("before_later", "after_later", "after_row_error", "renormalised_difference"),
        *("renormalised_far", "none_later", "inverted_later"),
        *("past_only_nan", "past_only_later", "own_word", "own_past_only"),
        *("encoder_later", "source"),
    )

    def __call__(self, model: Transformer) -> dict[str, float]:
        """Return the extremes over all draws.

        WAY_later: what the later word moves in an earlier row of the decoder that moves most;
        after_row_error: how far a row of weights is from a sum of 1; renormalised_difference: how
        far outputs are from those of before; renormalised_far: the share of NaN in a row whose
        later score is FAR above, in float32; past_only_nan: the share of NaN in outputs; own_word:
        what an input moves in its own row by the usual mask, and own_past_only by past_only_finite;
        encoder_later: the least that a later word moves in a row of the encoder;
        source: the least that a source word moves in a row of the decoder.
        """
        found = [self.draw(*drawn) for drawn in self.models(model)]
        values = {name: torch.stack([one[name] for one in found]) for name in found[0]}
        return {k: float(v.min() if k in LEAST else v.max()) for k, v in values.items()}

    @torch.no_grad()
    def draw(self, model: Transformer, generator: torch.Generator) -> dict[str, Tensor]:
        """Return the measurements under one set of weights."""
        src, tgt = (random_sentences(model, [self.length], generator) for _ in range(2))
        words, sources = each_replaced(tgt), each_replaced(src)
        memory = model.encode(src.expand_as(words))
        states = {way: masked(model, way).decode(words, memory) for way in WAYS}
        moves = {way: influence(rows) for way, rows in states.items()}
        later = torch.ones_like(moves["before"], dtype=torch.bool).triu(1)
        read = model.encode(sources)
        scores = torch.randn(self.length, self.length, generator=generator).double()
        sums = Masked("after").weights(scores).sum(-1)
        far = torch.zeros(2, 2)
        far[0, 1] = FAR
        nan = states["past_only"].isnan().double().mean()
        return {
            **{f"{way}_later": moves[way][later].max() for way in ("before", "after", "none")},
            "inverted_later": moves["inverted"][later].max(),
            "past_only_later": moves["past_only_finite"][later].max(),
            "after_row_error": (sums - 1).abs().max(),
            "renormalised_difference": moved(states["renormalised"], states["before"]),
            "renormalised_far": Masked("renormalised").weights(far).isnan().double().mean(),
            "past_only_nan": nan,
            "own_word": moves["before"].diagonal().max(),
            "own_past_only": moves["past_only_finite"].diagonal().max(),
            "encoder_later": influence(read.states)[later].min(),
            "source": influence(model.decode(tgt.expand_as(sources), read)).min(),
        }


def masked(model: Transformer, way: str) -> Transformer:
    """Return the model with the look-ahead mask of each self-attention elsewhere."""
    layer: nn.ModuleDict
    for layer in model.decoder.layers:  # type: ignore[assignment]
        layer["self_attention"].kernel = Masked(way)
    return model
