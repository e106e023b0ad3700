"""Compare the layers of a model with torch's layers with the same weights.

Equation: Post-LN: LN(x + F(x)) around every sub-layer F; Pre-LN: x + F(LN(x)).
Source: arXiv:1706.03762, sections 3.1 and 3.3; the layers of torch.nn.
What differs: random weights and vectors in float64, without dropout except where it is tested.
    The stacks are nn.TransformerEncoder and nn.TransformerDecoder, because nn.Transformer adds a
    norm at the end of each. It is compared as well.
What to expect: 0 up to 1e-12, and large differences if torch's norms are placed differently.
"""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from ablate.errors import UserError
from ablate.model.attention import weights_of
from ablate.model.attention.explicit import Explicit
from ablate.model.attention.fused import Fused
from ablate.model.attention.multi_head import CrossAttention, MultiHeadAttention, SelfAttention
from ablate.model.feed_forward import FeedForward, PositionWise
from ablate.model.layers import Linear
from ablate.model.norm import LayerNorm, Norm
from ablate.model.padding import Mask
from ablate.model.position import Position
from ablate.model.residual import PostLN, PreLN
from ablate.model.stack import Memory, Stack, Sublayer
from ablate.model.transformer import Transformer
from experiments.blocks_against_torch.torch_twin import run_twins, twin, whole_twin
from experiments.shared.measure.kernels import hooked
from experiments.shared.probe.draws import Measured, RandomModels, moved, seeded

SENTENCES = 3
DROPOUT = 0.1
# the sub-layers of a layer of the original Transformer (arXiv:1706.03762, section 3.1)
LAYERS = {
    "encoder": ["self-attention", "feed-forward"],
    "decoder": ["masked self-attention", "cross-attention", "feed-forward"],
}


class Blocks(RandomModels):
    """A probe that compares encoder and decoder with the encoder and decoder of torch.nn with the
    same weights, and checks the kinds of sub-layers and the shapes of their outputs.
    """

    largest = ("twin_difference", "wrong_parts", "shape_changes")
    smallest = (
        *("other_order", "extra_norms", "other_parts", "cut_short", "added_silently", "refused"),
        "training_row_error",
    )

    def __call__(self, model: Transformer) -> dict[str, float]:
        """Return measurements of encoder and decoder: the largest or smallest value over random
        weights and inputs.

        Returns:
            twin_difference: largest difference between the outputs of encoder and decoder and the
                outputs of torch's stacks with the same weights.
            other_order: smallest such difference if torch's layers have the other norm placement,
                Pre-LN for Post-LN or the reverse.
            extra_norms: smallest such difference to the stacks of an nn.Transformer with the same
                weights.
            wrong_parts: largest number of layers whose sub-layers differ from the list LAYERS,
                plus the number of missing or additional norms.
            other_parts: smallest such number if the encoder is compared with the decoder's list.
            shape_changes: largest number of sub-layers and stacks whose output does not have the
                shape of the input.
            cut_short: smallest number of sub-layers whose output does not have the shape of the
                input after its last token is dropped. This is a control.
            added_silently: smallest number of wrong shapes that torch broadcasts when a tensor of
                this shape is added to the tokens.
            refused: smallest number of wrong shapes that torch rejects in this addition.
            training_row_error: largest deviation from 1 of the sum of a query's attention weights
                under dropout, for the draw in which it is smallest.

        Raises:
            UserError: a component of the model has no equivalent in torch.
        """
        check(model)
        return super().__call__(model)

    def draw(self, model: Transformer, generator: torch.Generator) -> Measured:
        """Yield the measurements that `__call__` describes, for one model with random weights."""
        lengths = torch.randint(2, self.length + 1, (2,), generator=generator).tolist()
        width = model.encoder.d_model
        tokens, real = [], []
        for n in lengths:
            tokens.append(torch.randn(SENTENCES, n, width, generator=generator).double())
            ends = torch.randint(1, n + 1, (SENTENCES, 1), generator=generator)
            real.append(torch.arange(n) < ends)
            real[-1][0] = True
        yield from outputs(model, tokens, real)
        yield from parts(model)
        yield from sums(tokens[0])
        first = [*model.encoder.layers][0]["self_attention"]
        yield "training_row_error", training_row_error(first.d_head, generator)


def check(model: Transformer) -> None:
    """Raise UserError unless torch has stacks of the same kind as the model's stacks."""
    if not all(map(in_torch, (model.encoder, model.decoder))):
        raise UserError(
            "probe=blocks compares with torch's layers: choose model/residual=post_ln or pre_ln, "
            "model.d_head=null, and the default options of all other components, such as "
            "model/norm=layer_norm and model/feed_forward=relu"
        )


def in_torch(stack: Stack) -> bool:
    """Return whether torch has a stack of the same kind: Post-LN or Pre-LN with layer norms, ReLU,
    softmax attention whose heads' widths add up to d_model, biases, and layers that share nothing.
    """
    parts = [*stack.modules()]
    norms = [part for part in parts if isinstance(part, Norm)]
    networks = [part for part in parts if isinstance(part, FeedForward)]
    return (
        type(stack.residual) in (PostLN, PreLN)
        and stack.order == [*range(len(stack.layers))]
        and all(size == 1 for _, size in stack.reads)
        and all(type(norm) is LayerNorm for norm in norms)
        and all(type(net) is PositionWise and net.activation is F.relu for net in networks)
        and all(in_module(part) for part in parts if isinstance(part, MultiHeadAttention))
        and all(part.bias is not None for part in parts if isinstance(part, Linear))
        and type(stack.position).bias is Position.bias
        and type(stack.position).rotate is Position.rotate
        and type(stack.position).embed_in_layer is Position.embed_in_layer
    )


def in_module(attention: MultiHeadAttention) -> bool:
    """Return whether nn.MultiheadAttention has an attention of the same kind."""
    kernel, width = attention.kernel, attention.d_model
    maps = (attention.query, attention.key, attention.value, attention.output)
    return (
        type(kernel) in (Explicit, Fused)
        and kernel.scale == attention.d_head**-0.5
        and all(type(part) is Linear and part.out_features == width for part in maps)
    )


def outputs(model: Transformer, tokens: list[Tensor], real: list[Tensor]) -> Measured:
    """Yield differences between the outputs of the model's encoder and decoder and the outputs of
    torch.nn's encoder and decoder with the same weights, and differences between shapes.

    Args:
        model: the model.
        tokens: source and target vectors.
        real: masks of the source and target vectors, False at padding.

    Yields:
        twin_difference: difference at tokens that are not padding.
        other_order: this difference if torch's layers have the other norm placement, Pre-LN for
            Post-LN or the reverse.
        extra_norms: this difference to the stacks of an nn.Transformer with the same weights.
        shape_changes: number of sub-layers and stacks whose output does not have the shape of their
            input.
        cut_short: number of sub-layers whose output without its last token does not have the shape
            of the input.
    """
    changes, shortened = [], []

    def compare(module: Sublayer, given: tuple[Any, ...], output: Tensor) -> None:
        changes.append(output.shape != given[0].shape)
        shortened.append(output[:, :-1].shape != given[0].shape)

    stacks = (model.encoder, model.decoder)
    with hooked([*model.encoder.sublayers, *model.decoder.sublayers], compare):
        memory = model.encoder(tokens[0], real[0])
        states = model.decoder(tokens[1], real[1], Memory(memory, real[0]))
    changes += [x.shape != y.shape for x, y in zip(tokens, (memory, states), strict=True)]
    yield "shape_changes", sum(changes)
    yield "cut_short", sum(shortened)
    encoder, decoder = twin(model.encoder), twin(model.decoder)
    placed = [
        stack.position.embed(x, torch.arange(x.size(1))[None])
        for stack, x in zip(stacks, tokens, strict=True)
    ]

    def difference(encoder: nn.Module, decoder: nn.Module) -> Tensor:
        theirs = run_twins(encoder, decoder, (placed[0], placed[1]), (real[0], real[1]))
        apart = [moved(a[r], b[r]) for a, b, r in zip((memory, states), theirs, real, strict=True)]
        return torch.stack(apart).max()

    yield "twin_difference", difference(encoder, decoder)
    whole = whole_twin(encoder, decoder)
    for layer in (*encoder.layers, *decoder.layers):
        layer.norm_first = not layer.norm_first
    yield "other_order", difference(encoder, decoder)
    yield "extra_norms", difference(whole.encoder, whole.decoder)


def parts(model: Transformer) -> Measured:
    """Yield how many layers of a model have other sub-layers than the original Transformer, whose
    sub-layers are listed in LAYERS.

    Yields:
        wrong_parts: number of such layers in encoder and decoder, plus the number of missing or
            additional norms.
        other_parts: the same number if the encoder is compared with the list for decoder layers.
    """
    stacks = {"encoder": model.encoder, "decoder": model.decoder}
    yield "wrong_parts", sum(wrong(stack, LAYERS[name]) for name, stack in stacks.items())
    yield "other_parts", wrong(model.encoder, LAYERS["decoder"])


def wrong(stack: Stack, expected: list[str]) -> int:
    """Return the number of layers whose sub-layers differ from a list of names, plus the number of
    missing or additional norms.

    Args:
        stack: encoder or decoder.
        expected: names of the sub-layers that each layer should have, in order.
    """
    made = [[name(part) for part in layer.children()] for layer in stack.layers]
    norms = len(stack.residual.norms) - sum(map(len, made))
    return sum(names != expected for names in made) + abs(norms)


def name(part: nn.Module) -> str:
    """Return the usual name of a kind of sub-layer, as in the list LAYERS: "self-attention",
    "masked self-attention", "cross-attention" or "feed-forward"; "other" for any other module.
    """
    if isinstance(part, SelfAttention):
        return "masked self-attention" if part.causal else "self-attention"
    kinds = {CrossAttention: "cross-attention", FeedForward: "feed-forward"}
    return next((label for kind, label in kinds.items() if isinstance(part, kind)), "other")


def sums(x: Float[Tensor, "B L D"]) -> Measured:
    """Yield for how many wrong shapes of a tensor torch adds the tensor to x without an error, and
    for how many shapes it raises an error.

    Yields:
        added_silently: number of wrong shapes that torch broadcasts to the shape of x.
        refused: number of wrong shapes for which torch raises an error.
    """
    _, n, width = x.shape
    counts = {"added_silently": 0, "refused": 0}
    for shape in ((1, width), (n, 1), (n + 1, width), (n, width + 1)):
        try:
            counts["added_silently"] += (x + torch.zeros(shape)).shape == x.shape
        except RuntimeError:
            counts["refused"] += 1
    yield from counts.items()


def training_row_error(d_head: int, generator: torch.Generator) -> Tensor:
    """Return the largest deviation from 1 of the sum of the attention weights of a query in
    training mode, where dropout drops some of the weights.
    """
    kernel = Explicit(d_head=d_head, dropout=DROPOUT, scale="sqrt_d_head", fill="zero_output")
    q, k = torch.randn(2, SENTENCES, 2, 20, d_head, generator=generator).double()
    with seeded(generator):
        weights = weights_of(kernel.train(), q, k, k, Mask(), None)
    return moved(weights.sum(-1), 1.0)
