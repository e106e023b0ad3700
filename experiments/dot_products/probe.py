"""Measure dot products of random queries and keys, and the gradient of a softmax over them.

Equation: s = q . k, q and k of d_head independent standard normal numbers, for which E[s] = 0,
    var[s] = d_head and the excess kurtosis of s is 6 / d_head; for a row of KEYS scores with
    p = softmax(s), the trace of the softmax's Jacobian is sum_j p_j (1 - p_j).
Source: arXiv:1706.03762, section 3.2.1, footnote 4 ("their dot product has mean 0 and variance
    d_k") and its main text ("regions where it has extremely small gradients").
What differs: nothing is learned; queries and keys of a model have other variances and depend on
    one another.
What to expect: a variance ratio of 1, a positive kurtosis that falls with d_head, and a trace that
falls with d_head unless the scores are divided by sqrt(d_head).
"""

from dataclasses import dataclass
from typing import Annotated

import torch
from jaxtyping import Float
from torch import Tensor

from ablate.config.limits import Range
from ablate.model.attention.multi_head import MultiHeadAttention
from ablate.model.transformer import Transformer
from ablate.probe import Probe
from ablate.process import stream

KEYS = 50  # keys per query: the length of a long sentence


@dataclass(kw_only=True)
class DotProducts(Probe):
    """A probe of the dot products of random queries and keys, as wide as a head of the model.

    Each query has KEYS keys of its own; no weights of the model are used.

    Args:
        rows: number of random queries.
        seed: seed of queries and keys.

    Raises:
        UserError: `rows` is below 2.
    """

    measures = ("variance_ratio", "variance_error", "kurtosis", "trace", "trace_scaled")

    rows: Annotated[int, Range(2)]
    seed: int

    def __call__(self, model: Transformer) -> dict[str, float]:
        """Return moments of the dot products, and mean traces of the softmax's Jacobian.

        Returns:
            variance_ratio: variance of the dot products divided by d_head.
            variance_error: absolute difference between variance_ratio and 1.
            kurtosis: excess kurtosis of the dot products.
            trace: mean trace of the Jacobian of a softmax over the dot products.
            trace_scaled: mean trace if the dot products are divided by sqrt(d_head).
        """
        width = next(m for m in model.modules() if isinstance(m, MultiHeadAttention)).d_head
        generator = torch.Generator().manual_seed(stream(self.seed, type(self).__name__))
        scores = torch.cat([self.row(width, generator) for _ in range(self.rows)])
        variance = scores.square().mean()
        ratio = float(variance / width)
        return {
            "variance_ratio": ratio,
            "variance_error": abs(ratio - 1),
            "kurtosis": float(scores.pow(4).mean() / variance**2 - 3),
            "trace": trace(scores),
            "trace_scaled": trace(scores * width**-0.5),
        }

    def row(self, width: int, generator: torch.Generator) -> Float[Tensor, "1 K"]:
        """Return the dot products of one random query with KEYS random keys, all of the given
        width.
        """
        vectors = torch.randn(1 + KEYS, width, generator=generator, dtype=torch.float64)
        return (vectors[1:] @ vectors[0])[None]


def trace(scores: Float[Tensor, "N K"]) -> float:
    """Return the mean trace of the Jacobian of the softmax of each row."""
    p = scores.softmax(-1)
    return float((p * (1 - p)).sum(-1).mean())
