"""Random sentences and random weights, for probes that need no corpus."""

import copy
from typing import TypeVar

import torch
from jaxtyping import Int
from torch import Tensor, nn

from ablate.data.vocabulary import EOS, PAD
from ablate.model.base import Model
from ablate.model.embedding.table import Table

NOISE = 0.1  # standard deviation
Part = TypeVar("Part", bound=nn.Module)  # a model, or a part of one


def random_sentences(
    model: Model, lengths: list[int], generator: torch.Generator
) -> Int[Tensor, "B L"]:
    """Return one sentence of real tokens per length, padded to the longest; for either side."""
    vocabulary = min(m.weight.size(0) for m in model.modules() if isinstance(m, Table))
    ids = torch.randint(EOS + 1, vocabulary, (len(lengths), max(lengths)), generator=generator)
    return ids.masked_fill(torch.arange(max(lengths)) >= torch.tensor(lengths)[:, None], PAD)


def each_replaced(ids: Int[Tensor, "1 L"]) -> Int[Tensor, "M L"]:
    """Return the sentence, and once for every position the sentence with another token there."""
    others = torch.where(ids == EOS + 1, EOS + 2, EOS + 1)
    diagonal = torch.eye(ids.size(1), dtype=torch.bool)
    return torch.cat([ids, torch.where(diagonal, others, ids)])


def randomised(model: Part, generator: torch.Generator) -> Part:
    """Return a float64 copy with noise on every parameter, biases and gains too, for evaluation.

    At their initial values biases are 0 and gains 1, where some differences cannot show.
    """
    other = copy.deepcopy(model).double().eval()
    with torch.no_grad():
        for parameter in other.parameters():
            noise = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
            parameter.add_(noise, alpha=NOISE)
    return other
