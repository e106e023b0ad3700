"""Record or replace the activations on the edges of a Transformer (activation patching).

An edge is the residual stream before a sub-layer, or the encoder output that the decoder reads.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from ablate.errors import UserError
from ablate.model import Seq2Seq
from ablate.model.attention import Kernel
from ablate.model.stack import Stack, Sublayer
from ablate.model.transformer import Transformer
from experiments.shared.probe.draws import moved

SUBLAYERS = {"encoder": 2, "decoder": 3}  # number of sub-layers per layer
# by stack: the number of a sub-layer, and the residual stream that replaces its input
Replacements = Mapping[str, tuple[int, Tensor]]


class Heads(NamedTuple):
    """Queries, keys and values of one attention, split into heads."""

    query: Float[Tensor, "B H Q E"]
    key: Float[Tensor, "B H K E"]
    value: Float[Tensor, "B H K E"]


class Trace(NamedTuple):
    """Activations of one forward pass: inputs of the attentions, residual streams before the
    sub-layers, encoder output and decoder output.
    """

    heads: dict[str, Heads]  # for every attention, by names such as "decoder.0.cross"
    streams: dict[str, list[Tensor]]  # for each stack, before every sub-layer
    memory: Float[Tensor, "B S D"]
    states: Float[Tensor, "B T D"]


@torch.no_grad()
def trace(
    model: Transformer,
    inputs: Seq2Seq,
    fixed: Replacements | None = None,
    memory: Tensor | None = None,
) -> Trace:
    """Run a model with some activations replaced, and return all recorded activations.

    Args:
        model: the model.
        inputs: source and target tokens.
        fixed: for a stack, the number of a sub-layer and the residual stream that replaces its
            input.
        memory: encoder output that the decoder reads instead of its own.

    Raises:
        UserError: the residual uses a stream of several tensors, or a stack has sub-layers that
            share a residual connection or layers that share weights.
    """
    for stack, per_layer in SUBLAYERS.items():
        part = getattr(model, stack)
        if part.reads != [(i, 1) for i in range(per_layer * len(part.layers))]:
            raise UserError(
                "this probe works only if each sub-layer has its own residual connection and is "
                "used once: set model/block=serial and model.share_layers=none"
            )
    heads: dict[str, Heads] = {}
    streams: defaultdict[str, list[Tensor]] = defaultdict(list)

    def pass_on(stack: str, number: int, stream: Any) -> Any:
        if not isinstance(stream, Tensor):
            raise UserError(
                "this probe works only if the residual stream is one tensor, but model/residual "
                f"passes on a {type(stream).__name__}: choose another model/residual"
            )
        at, other = (fixed or {}).get(stack, (-1, stream))
        streams[stack].append(other if number == at else stream)
        return streams[stack][-1]

    def record(name: str, kernel: Kernel, given: tuple[Any, ...]) -> None:
        heads[name] = Heads(*given[:3])

    with ExitStack() as wired:
        for stack in SUBLAYERS:
            wired.enter_context(rewired(getattr(model, stack), partial(pass_on, stack)))
        for name, kernel in model.attentions():
            wired.enter_context(kernel.register_forward_pre_hook(partial(record, name)))
        encoded = model.encode(inputs.src)
        read = encoded if memory is None else encoded._replace(states=memory)
        states = model.decode(inputs.tgt_in, read)
    return Trace(heads, dict(streams), encoded.states, states)


@contextmanager
def rewired(stack: Stack, pass_on: Callable[[int, Any], Any]) -> Iterator[None]:
    """Replace the residual stream before each sub-layer i by `pass_on(i, stream)` within a `with`
    block.

    If such blocks are nested, the innermost replacement applies first.
    """

    def replace(residual: nn.Module, given: tuple[Any, ...]) -> tuple[Any, ...]:
        i, stream, *rest = given
        return i, pass_on(i, stream), *rest

    with stack.residual.register_forward_pre_hook(replace, prepend=True):
        yield


@contextmanager
def memories(model: Transformer, levels: list[Tensor]) -> Iterator[None]:
    """Let decoder layer number i read `levels[i]` in place of the encoder output, within a `with`
    block.
    """

    def read(level: Tensor, module: Sublayer, args: Any, kwargs: dict[str, Any]) -> Any:
        at = kwargs["at"]
        return args, kwargs | {"at": at._replace(memory=at.memory._replace(states=level))}

    with ExitStack() as hooked:
        for layer, level in zip(model.decoder.layers, levels, strict=True):
            cross: Any = layer["cross_attention"]  # type: ignore[index]
            reading = partial(read, level)
            hooked.enter_context(cross.register_forward_pre_hook(reading, with_kwargs=True))
        yield


def changes(first: Heads, other: Heads) -> Float[Tensor, " 3"]:
    """Compare an attention in two forward passes: return the changes of its queries, of its keys
    and of its values.
    """
    return torch.stack([*map(moved, first, other)])
