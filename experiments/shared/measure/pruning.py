"""Measure how much the nll of a trained model rises without some of its heads.

Equation: share(heads) = (nll without them - nll) / (nll without all heads of their attention - nll)
Source: Michel et al. 2019, arXiv:1905.10650, section 3: the output of a head is set to 0.
What differs: nll of references rather than BLEU, relative to the rise without the whole attention,
    so that different attentions can be averaged.
What to expect: if heads work like an ensemble, a head matters little while the other heads remain:
    one head has a share below 1/H, and half of the heads have a share below a half.
"""

import math
from collections.abc import Collection, Iterator
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from ablate.config.limits import Count
from ablate.data import PAD
from ablate.data.module import TextData
from ablate.errors import UserError
from ablate.measure import Measure
from ablate.model.attention.multi_head import MultiHeadAttention
from ablate.model.transformer import Transformer
from ablate.process import stream
from experiments.shared.measure.gold import sentences
from experiments.shared.measure.words import Read, read


class Pruning(Measure):
    """A measurement of the nll on test sentences when the outputs of some heads are set to 0.

    Args:
        sentences: number of test sentences.
        halves: number of times that a random half of the heads of each attention is removed.
    """

    measures = ("worst_head", "mean_head", "half_of_heads", "no_heads")

    def __init__(self, *, sentences: Count, halves: Count) -> None:
        self.sentences, self.halves = sentences, halves

    def check_model(self, model: Transformer) -> None:
        """Raise UserError if the number of heads is odd, so that there is no half of them."""
        super().check_model(model)
        for attention in attentions(model):
            if attention.n_heads % 2:
                raise UserError(
                    "measure=pruning removes half of the heads of each attention, and "
                    f"model.n_heads is {attention.n_heads}: choose an even number"
                )

    def __call__(self, model: Transformer, data: TextData) -> dict[str, float]:
        """Return the rise of the nll without some heads, divided by the rise without all heads of
        the same attention.

        Returns:
            worst_head: value for the most important head.
            mean_head: mean over all heads.
            half_of_heads: value for a random half of the heads, mean over halves and attentions.
            no_heads: the smallest rise of the nll, in nats per token, when all heads of an
                attention are removed. If it is 0, the other values are NaN.
        """
        self.text = read(sentences("test", self.sentences), data.tokenizers)
        whole = nll(model, self.text)
        single, halves, worth = [], [], []
        for attention in attentions(model):
            worth.append(self.rise(model, attention, range(attention.n_heads), whole))
            each = [self.rise(model, attention, [h], whole) for h in range(attention.n_heads)]
            single += [share(rise, worth[-1]) for rise in each]
            lost = [self.rise(model, attention, half, whole) for half in self.drawn(attention)]
            halves += [share(rise, worth[-1]) for rise in lost]
        return {
            "worst_head": float(np.max(single)),
            "mean_head": sum(single) / len(single),
            "half_of_heads": sum(halves) / len(halves),
            "no_heads": float(np.min(worth)),
        }

    def drawn(self, attention: MultiHeadAttention) -> list[list[int]]:
        """Return `halves` random sets, each with half of the attention's heads."""
        generator = torch.Generator().manual_seed(stream(0, "Pruning"))
        orders = [
            torch.randperm(attention.n_heads, generator=generator) for _ in range(self.halves)
        ]
        return [order[: attention.n_heads // 2].tolist() for order in orders]

    def rise(
        self,
        model: Transformer,
        attention: MultiHeadAttention,
        heads: Collection[int],
        whole: float,
    ) -> float:
        """Return the rise of the nll in nats per token when the outputs of `heads` are set to 0.

        `whole` is the nll of the unchanged model.
        """

        def silence(module: Any, inputs: tuple[Tensor]) -> Tensor:
            kept = inputs[0].view(*inputs[0].shape[:-1], attention.n_heads, -1).clone()
            kept[..., list(heads), :] = 0
            return kept.flatten(-2)

        with attention.output.register_forward_pre_hook(silence):
            return nll(model, self.text) - whole


def attentions(model: Transformer) -> Iterator[MultiHeadAttention]:
    """Yield all attention modules of a model."""
    return (part for part in model.modules() if isinstance(part, MultiHeadAttention))


def share(rise: float, worth: float) -> float:
    """Return the rise without some heads divided by the rise without all heads; NaN if the rise
    without all heads is 0.
    """
    return rise / worth if worth else math.nan


@torch.no_grad()
def nll(model: Transformer, text: Read) -> float:
    """Return the mean nll of the targets in nats per token."""
    logits: Float[Tensor, "B T V"] = model.head(model(text.inputs))
    return float(F.cross_entropy(logits.flatten(0, 1), text.targets.flatten(), ignore_index=PAD))
