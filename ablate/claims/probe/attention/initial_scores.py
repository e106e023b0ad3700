"""Scaled scores of a model's own activations before training, by the width of a head.

Equation: s = q . k / sqrt(d_head), q and k the rows of X W_Q and X W_K, X what the first
    self-attention of the encoder reads. The maps are drawn by
    `unit`: no map: q and k are independent standard normal numbers, the premise of the formula;
    `linear`: uniform in +-d_model^-0.5, as torch.nn.Linear;
    `xavier`: uniform in +-sqrt(6 / (d_model + rows)), as this project;
    `fused_xavier`: uniform in +-sqrt(6 / (d_model + 3 rows)), as torch.nn.MultiheadAttention.
Source: arXiv:1706.03762, section 3.2.1, footnote 4.
What differs: the sentences are random; biases are 0.
What to expect: deviation 1 under the premise, of any width; with maps what they make of X, which
    depends on the width only where the number of rows does.
"""

import copy
from dataclasses import dataclass
from typing import Annotated

import torch
from jaxtyping import Float
from torch import Tensor

from ablate.config.limits import Count, OneOf
from ablate.data.vocabulary import PAD
from ablate.model.attention.multi_head import SelfAttention
from ablate.model.transformer import Transformer
from ablate.probe.base import Probe
from ablate.probe.sentences import random_sentences
from ablate.seeding import stream

MAPS = ("unit", "linear", "xavier", "fused_xavier")
LENGTH, SENTENCES, HEADS = 12, 8, 4


@dataclass(kw_only=True)
class InitialScores(Probe):
    """Draws maps to queries and keys, and looks at the scores of every pair of tokens.

    Args:
        maps: unit | linear | xavier | fused_xavier.
        draws: maps and sentences that are tried.
        seed: of both.

    Raises:
        UserError: `draws` is below 1.
    """

    measures = ("deviation", "error", "log2_deviation", "log2_four_heads", "own", "unscaled")

    maps: Annotated[str, OneOf(MAPS)]
    draws: Count
    seed: int

    def __call__(self, model: Transformer) -> dict[str, float]:
        """Return deviations of scaled scores, averaged over the draws.

        deviation: with as many heads as make d_model rows, log2_deviation: its binary logarithm;
        error: the largest distance of a draw's from 1; log2_four_heads: with four heads of the
        width; own: the mean score of a vector with itself, over the deviation of the others;
        unscaled: error without the division.
        """
        fixed = copy.deepcopy(model).double().eval()
        width = next(m for m in fixed.modules() if isinstance(m, SelfAttention)).d_head
        drawn = [self.draw(fixed, width, number) for number in range(self.draws)]
        found, four_heads, own = torch.tensor(drawn, dtype=torch.float64).T
        return {
            "deviation": float(found.mean()),
            "error": float((found - 1).abs().max()),
            "log2_deviation": float(found.log2().mean()),
            "log2_four_heads": float(four_heads.log2().mean()),
            "own": float((own / found).mean()),
            "unscaled": float((found * width**0.5 - 1).abs().min()),
        }

    @torch.no_grad()
    def draw(self, model: Transformer, width: int, number: int) -> list[float]:
        """Return the deviation with d_model rows and with four heads, and the mean own score."""
        generator = torch.Generator().manual_seed(stream(self.seed, f"InitialScores/{number}"))
        src = random_sentences(model, [LENGTH] * SENTENCES, generator)
        x = first_input(model, src)
        q, k = (self.heads(x, x.size(-1), width, generator) for _ in range(2))
        own = (q * q).sum(-1).mean() * width**-0.5
        others = [self.heads(x, HEADS * width, width, generator) for _ in range(2)]
        return [float(deviation(q, k)), float(deviation(*others)), float(own)]

    def heads(
        self, x: Float[Tensor, "B L D"], rows: int, width: int, generator: torch.Generator
    ) -> Float[Tensor, "B H L E"]:
        """Return what a new map makes of x, in heads."""
        if self.maps == "unit":
            shape = (len(x), rows // width, x.size(1), width)
            return torch.randn(shape, generator=generator, dtype=x.dtype)
        d_model = x.size(-1)
        bounds = {
            "linear": d_model**-0.5,
            "xavier": (6 / (d_model + rows)) ** 0.5,
            "fused_xavier": (6 / (d_model + 3 * rows)) ** 0.5,
        }
        uniform = torch.rand(d_model, rows, generator=generator, dtype=x.dtype)
        mapped = x @ ((2 * uniform - 1) * bounds[self.maps])
        return mapped.unflatten(-1, (-1, width)).transpose(1, 2)


def deviation(q: Float[Tensor, "B H L E"], k: Float[Tensor, "B H L E"]) -> Float[Tensor, ""]:
    """Return the standard deviation of scaled scores around 0."""
    return (q @ k.mT * q.size(-1) ** -0.5).square().mean().sqrt()


def first_input(model: Transformer, src: Tensor) -> Float[Tensor, "B L D"]:
    """Return what the first self-attention of the encoder reads."""
    found: list[Tensor] = []
    first = next(m for m in model.encoder.modules() if isinstance(m, SelfAttention))
    handle = first.register_forward_pre_hook(lambda module, inputs: found.append(inputs[0]))
    try:
        model.encoder(model.embedding.embed_src(src), src != PAD)
    finally:
        handle.remove()
    return found[0]
