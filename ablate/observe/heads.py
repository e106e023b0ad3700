"""Measure how much the attention weights of different heads differ.

Equation: the mean over pairs of heads of the Jensen-Shannon divergence of their weights, JS(p, q) =
    H((p + q) / 2) - (H(p) + H(q)) / 2 in bits: 0 for equal heads, 1 for heads that share no key.
Source: arXiv:1906.04341, section 6, which compares heads by this divergence.
What differs: the source sums over words to compute a distance for each pair of heads; here there is
    a single mean over layers, queries that are no padding, and pairs of heads.
What to expect: above 0 from the first step on, because heads have different initial weights; so
    compare the measure between arms and seeds rather than with 0.
"""

import math
from itertools import combinations
from typing import Any

import torch
from jaxtyping import Bool, Float
from lightning_fabric.utilities import move_data_to_device
from torch import Tensor

from ablate.data.batch import Batch
from ablate.data.vocabulary import PAD
from ablate.model.base import Model, texts
from ablate.model.inspect import attention_weights

SENTENCES = 64  # the first sentences of validation, independent of batches


def head_distances(model: Model, batch: Batch, device: torch.device) -> dict[str, float]:
    """Return the mean Jensen-Shannon divergence between heads, in bits (0 to 1).

    The keys are heads/encoder_self, heads/decoder_self and heads/decoder_cross. Each value is a
    mean over the layers; with a single head the value is 0. The result is empty for a model without
    attention.
    """
    if not any(True for _ in model.attentions()):
        return {}
    inputs = move_data_to_device(batch.inputs, device)
    by_kind: dict[str, list[float]] = {}
    for name, weights in attention_weights(model, inputs).items():
        stack, _, kind = name.split(".")
        queries = torch.cat(texts(inputs)[model.reads[stack]], 1) != PAD
        by_kind.setdefault(f"heads/{stack}_{kind}", []).append(distance(weights, queries))
    return {name: sum(layers) / len(layers) for name, layers in by_kind.items()}


def distance(weights: Float[Tensor, "B H Q K"], real: Bool[Tensor, "B Q"]) -> float:
    """Return the mean Jensen-Shannon divergence in bits between the weights of pairs of heads.

    `real` is False at queries that are padding; these queries are ignored.
    """
    heads: Any = weights.double().transpose(0, 1)[:, real]  # H N K
    entropies = [entropy(head) for head in heads]
    pairs = [
        float((entropy((heads[i] + heads[j]) / 2) - (entropies[i] + entropies[j]) / 2).mean())
        for i, j in combinations(range(len(heads)), 2)
    ]
    return sum(pairs) / len(pairs) if pairs else 0.0


def entropy(p: Float[Tensor, "N K"]) -> Float[Tensor, " N"]:
    """Return the entropy of each row in bits."""
    return -torch.special.xlogy(p, p).sum(-1) / math.log(2)
