"""Looking into a model: attention weights and parameter counts."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from ablate.model.attention.base import Kernel
from ablate.model.transformer import Transformer


@torch.no_grad()
def attention_weights(
    model: Transformer, src: Int[Tensor, "B S"], tgt_in: Int[Tensor, "B T"]
) -> dict[str, Float[Tensor, "B H Q K"]]:
    """Return the weights of every attention, without dropout.

    Keys are "encoder.0.self", "decoder.0.self", "decoder.0.cross", numbers counting layers.
    """
    found: dict[str, Tensor] = {}

    def record(name: str) -> Any:
        def hook(kernel: nn.Module, inputs: tuple[Any, ...], output: tuple[Any, ...]) -> None:
            found[name] = output[1] if output[1] is not None else weights_of(kernel, *inputs)

        return hook

    handles = [kernel.register_forward_hook(record(name)) for name, kernel in kernels(model)]
    training = model.training
    try:
        model.eval()(src, tgt_in)
    finally:
        model.train(training)
        for handle in handles:
            handle.remove()
    return found


def kernels(model: Transformer) -> Iterator[tuple[str, Kernel]]:
    """Yield every attention kernel with its name."""
    for number, encoder_layer in enumerate(model.encoder.layers):
        yield f"encoder.{number}.self", encoder_layer.self_attention.kernel
    for number, decoder_layer in enumerate(model.decoder.layers):
        yield f"decoder.{number}.self", decoder_layer.self_attention.kernel
        yield f"decoder.{number}.cross", decoder_layer.cross_attention.kernel


def weights_of(
    kernel: nn.Module, q: Tensor, k: Tensor, v: Tensor, keep: Tensor | None
) -> Float[Tensor, "B H Q K"]:
    """Return the weights of a kernel that does not tell them.

    Kernels are linear in the values, so the values of an identity matrix are the weights.
    """
    n_keys = k.size(2)
    identity = torch.eye(n_keys, dtype=v.dtype, device=v.device)
    weights: Tensor = kernel.forward(q, k, identity.expand(*v.shape[:2], -1, -1), keep)[0]
    return weights


def parameter_table(model: nn.Module) -> list[tuple[str, int]]:
    """Return (part, number of parameters), largest first; layers of a stack are added up.

    Parts are disjoint and sum to the total: a shared matrix counts once.
    """
    counts: Counter[str] = Counter()
    for name, parameter in model.named_parameters():
        counts[part_of(name)] += parameter.numel()
    return counts.most_common()


def part_of(name: str) -> str:
    """Return the part that a parameter belongs to, such as "decoder.cross_attention"."""
    return ".".join(re.sub(r"\blayers\.\d+\.", "", name).split(".")[:2])
