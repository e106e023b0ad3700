"""Measure norms of sub-layers, normalisation errors, attention scores, and similarity of states.

The relative size of a sub-layer is |F(x)| / |x|, with x the residual stream before it; in Pre-LN
this is not the sub-layer's input. States of different layers are compared after the final norm of
their stack, if it has one, because the stream of Pre-LN grows from layer to layer. Sub-layers that
share a residual connection (model/block=parallel) count as a single sub-layer.
"""

import copy
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional as F

from ablate.config.limits import Count
from ablate.data import PAD
from ablate.data.module import TextData
from ablate.errors import UserError
from ablate.measure import Measure
from ablate.model.norm import NoNorm, Norm
from ablate.model.residual import Apply
from ablate.model.stack import Stack
from ablate.model.transformer import Transformer
from experiments.shared.measure.gold import sentences
from experiments.shared.measure.inside import watched
from experiments.shared.measure.kernels import hooked, scale_of
from experiments.shared.measure.pruning import nll
from experiments.shared.measure.words import Read, read


class Passed(NamedTuple):
    """The residual stream before a sub-layer, the sub-layer's output, and the residual stream after
    the sub-layer.
    """

    before: Float[Tensor, "B L D"]
    given: Float[Tensor, "B L D"]
    behind: Float[Tensor, "B L D"]


class Layers(Measure):
    """A measurement of all layers of encoder and decoder on test sentences.

    Args:
        sentences: number of test sentences.
    """

    measures = (
        *("largest_share", "median_share", "norm_error", "plain_norm_error", "score_error"),
        *("layers_alike", "tokens_alike", "last_layer"),
    )
    reads_weights = True

    def __init__(self, *, sentences: Count) -> None:
        self.sentences = sentences

    def check_model(self, model: Transformer) -> None:
        """Raise UserError for a model without norms, with attention scores other than scaled dot
        products, or with several residual streams.
        """
        super().check_model(model)
        for _, kernel in model.attentions():
            scale_of(kernel)
        if not norms(model):
            raise UserError(
                "measure=layers measures the outputs of norms, and model/norm=none leaves none: "
                "choose another model/norm, or measure=none"
            )
        for stack in (model.encoder, model.decoder):
            token = torch.zeros(1, 1, stack.d_model, device=next(stack.parameters()).device)
            if not isinstance(stack.residual.enter(token, None), Tensor):
                raise UserError(
                    "measure=layers compares the outputs of sub-layers with a single residual "
                    f"stream, but {type(stack.residual).__name__} has several: choose another "
                    "model/residual, such as pre_ln, or measure=none"
                )

    def __call__(self, model: Transformer, data: TextData) -> dict[str, float]:
        """Return measurements of sub-layers, norms, attention scores and states.

        Returns:
            largest_share, median_share: largest value and median, over all sub-layers, of the
                median over tokens of |F(x)| / |x|.
            norm_error: largest deviation of a token's mean from 0, or variance from 1, after a
                norm.
            plain_norm_error: the same deviation before gain and bias.
            score_error: largest deviation from 1 of the standard deviation of the scaled scores of
                an attention.
            layers_alike: mean cosine between the outputs of the encoder's last two layers for the
                same token.
            tokens_alike: mean cosine between two tokens of a sentence in the encoder's last layer.
            last_layer: increase of the nll without the last layer of both stacks, in nats per
                token.
        """
        text = read(sentences("test", self.sentences), data.tokenizers)
        real = {"encoder": text.inputs.src != PAD, "decoder": text.inputs.tgt_in != PAD}
        passed = {name: passages(getattr(model, name), model, text) for name in real}
        shares = [
            size_share(sublayer, real[name])
            for name, sublayers in passed.items()
            for sublayer in sublayers
        ]
        return {
            "largest_share": float(np.max(shares)),
            "median_share": float(torch.tensor(shares).quantile(0.5)),
            **norm_errors(model, text),
            "score_error": score_error(model, text, real),
            **likeness(model.encoder, passed["encoder"], real["encoder"]),
            "last_layer": nll(without_last_layer(model), text) - nll(model, text),
        }


@torch.no_grad()
def passages(stack: Stack, model: Transformer, text: Read) -> list[Passed]:
    """Return for each residual connection of a stack the residual stream before its sub-layer, the
    output of the sub-layer, and the residual stream after it, when the model reads a batch.

    If several sub-layers share a connection, the output is their sum.
    """
    passed: list[Passed] = []
    outputs: list[Tensor] = []

    def before(residual: nn.Module, given: tuple[int, Tensor, Apply, Tensor]) -> tuple[Any, ...]:
        i, stream, sublayer, real = given

        def call(x: Tensor) -> Tensor:
            outputs.append(sublayer(x))
            return outputs[-1]

        return i, stream, call, real

    def behind(residual: nn.Module, given: tuple[Any, ...], stream: Tensor) -> None:
        passed.append(Passed(given[1], outputs[-1], stream))

    residual = stack.residual
    with residual.register_forward_pre_hook(before), residual.register_forward_hook(behind):
        model(text.inputs)
    return passed


def size_share(sublayer: Passed, real: Bool[Tensor, "B L"]) -> float:
    """Return the median over tokens of the norm of the sub-layer's output divided by the norm of
    the residual stream before it.

    `real` is false at padding.
    """
    return float((sublayer.given.norm(dim=-1) / sublayer.before.norm(dim=-1))[real].median())


@torch.no_grad()
def likeness(stack: Stack, passed: list[Passed], real: Bool[Tensor, "B L"]) -> dict[str, float]:
    """Return the mean cosine similarity between the outputs of the last two layers for the same
    token (layers_alike), and between two tokens of a sentence in the last layer (tokens_alike).

    Args:
        stack: the encoder or decoder.
        passed: the residual streams around each sub-layer of the stack.
        real: false at padding.
    """
    ends_of_layers = accumulate(len(stack.sizes[i]) for i in stack.order)
    ends = [passed[0].before, *(passed[n - 1].behind for n in ends_of_layers)]
    before, last = (stack.residual.leave(end, real) for end in ends[-2:])
    unit = F.normalize(last, dim=-1)
    pairs = unit @ unit.mT
    both = real[:, :, None] & real[:, None] & ~torch.eye(real.size(1), dtype=torch.bool)
    return {
        "layers_alike": float(F.cosine_similarity(before, last, dim=-1)[real].mean()),
        "tokens_alike": float(pairs[both].mean()),
    }


@torch.no_grad()
def norm_errors(model: Transformer, text: Read) -> dict[str, float]:
    """Return the largest deviation of a token's mean from 0 or variance from 1 after any norm: with
    gain and bias (norm_error), and before gain and bias (plain_norm_error).
    """
    errors: dict[str, list[float]] = {"norm_error": [], "plain_norm_error": []}

    def hook(norm: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        normed = output[inputs[1]]
        plain = (normed - getattr(norm, "bias", 0.0)) / getattr(norm, "gain", 1.0)
        errors["norm_error"].append(off_normal(normed))
        errors["plain_norm_error"].append(off_normal(plain))

    with hooked(norms(model), hook):
        model(text.inputs)
    return {name: float(np.max(deviations)) for name, deviations in errors.items()}


def norms(model: Transformer) -> list[Norm]:
    """Return the norms of a model, without those of model/norm=none, which return their input."""
    parts = model.modules()
    return [part for part in parts if isinstance(part, Norm) and not isinstance(part, NoNorm)]


def off_normal(x: Float[Tensor, "N D"]) -> float:
    """Return the largest deviation of a row's mean from 0 or of its variance from 1."""
    mean, variance = x.mean(-1), x.var(-1, correction=0)
    return float(torch.maximum(mean.abs(), (variance - 1).abs()).max())


def score_error(model: Transformer, text: Read, real: dict[str, Tensor]) -> float:
    """Return how far the standard deviation of scaled attention scores is from 1, for the attention
    with the largest deviation.

    `real` has a mask for "encoder" (the source) and for "decoder" (the target); it is false at
    padding.
    """
    with watched(model) as attended:
        model(text.inputs)
    deviations = []
    for name, attention in attended.items():
        stack = name.partition(".")[0]
        keys = real["encoder"] if name.endswith("cross") else real[stack]
        both = real[stack][:, None, :, None] & keys[:, None, None]
        deviations.append(abs(float(attention.scores[both.expand_as(attention.scores)].std()) - 1))
    return float(np.max(deviations))


def without_last_layer(model: Transformer) -> Transformer:
    """Return a copy of the model without the last layer of each stack."""
    shorter = copy.deepcopy(model)
    for stack in (shorter.encoder, shorter.decoder):
        stack.order = stack.order[:-1]
    return shorter
