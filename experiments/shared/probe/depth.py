"""Measure the effect of depth on gradients and on token similarity in an untrained encoder.

Equation: for random tokens X and a random direction G, the norms of d<G, f(X)> / d(layer); and for
    the output after each layer (as if the stack ended there), the cosines between tokens, between
    consecutive layers, and with the embeddings.
Source: arXiv:2002.04745, section 3 (gradients of the last layers); arXiv:2304.14802, section 2.2
    (similar layers in Pre-LN); arXiv:2103.03404 (tokens become similar without skip connections).
What differs: gradients of a random direction rather than of a loss, whose softmax could hide or
    create differences; the model is untrained, in float64.
What to expect: two gradient problems: large gradients near the output in Post-LN, and vanishing
    gradients towards the input without skips. Two kinds of collapse: layers that add little
    (Pre-LN), and tokens that become similar (without skips, and in upper layers of Post-LN).
"""

import copy
from functools import partial
from itertools import islice

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn import functional as F

from ablate.data import PAD
from ablate.model.residual import Residual
from ablate.model.stack import LayerContext, Stack, summed
from ablate.model.transformer import Transformer
from ablate.probe import random_sentences
from experiments.shared.probe.draws import Measured, RandomModels

SENTENCES = 4


class Depth(RandomModels):
    """A probe that measures how gradients and outputs of an encoder depend on its depth.

    Random sentences pass through all layers. Random tokens pass through the first residual
    connection alone, around a sub-layer that is constructed to stop their gradient.

    Args:
        draws: number of random tokens that pass through the first residual connection alone.
        length: number of tokens in a random sentence.
        seed: seed of sentences, directions and tokens.

    Raises:
        UserError: `draws` is below 1, or `length` below 2.
    """

    smallest = ("constructed", "random")
    single = (
        *("first_over_last", "vanishing", "last_gradient", "input_gradient"),
        *("token_cosine", "stable_rank", "layer_cosine", "deletion", "kept"),
    )

    def __call__(self, model: Transformer) -> dict[str, float]:
        """Return gradient norms and similarities of tokens in the encoder, and the factor by which
        a residual connection scales a gradient.

        Returns:
            first_over_last: log10 of the gradient norm of the first layer divided by the gradient
                norm of the last layer.
            vanishing: how far first_over_last is below 0; 0 if it is above.
            last_gradient, input_gradient: log10 of the gradient norm of the last layer, and of the
                encoder's input.
            token_cosine: mean cosine between the outputs of different tokens of a sentence.
            stable_rank: stable rank of the matrix of a sentence's outputs, divided by its number
                of tokens.
            layer_cosine: mean cosine between the outputs for a token after the last two layers.
            deletion: relative change of the outputs if the last layer is left out.
            kept: fraction of tokens whose output is most similar to their own embedding, among the
                embeddings of the sentence.
            constructed: largest singular value of d(output) / d(input) of the first residual
                connection around the sub-layer that `stop` constructs, without the norm at the end
                of the stack. The smallest value over the random tokens is returned.
            random: the same value around a random linear sub-layer.
        """
        fixed = copy.deepcopy(model).double().eval()
        generator = self.generator()
        src = random_sentences(fixed, [self.length] * SENTENCES, generator)
        tokens = fixed.embedding.embed_src(src).detach()
        outputs = after_each_layer(fixed.encoder, tokens, src != PAD)
        direction = torch.randn(outputs[0].shape, generator=generator, dtype=tokens.dtype)
        residual, width = fixed.encoder.residual, tokens.size(-1)
        return {
            **self.reduced(factors(residual, width, generator) for _ in range(self.draws)),
            **gradients(fixed.encoder, tokens.requires_grad_(), src != PAD, direction),
            **likeness(outputs),
        }


def factors(residual: Residual, width: int, generator: torch.Generator) -> Measured:
    """Yield the factors by which a residual connection scales the gradient of one random token.

    Yields:
        constructed: the factor around a linear sub-layer that was constructed to stop the gradient.
        random: the factor around a random linear sub-layer.
    """
    x, target = torch.randn(2, width, generator=generator, dtype=torch.float64)
    weight = torch.randn(width, width, generator=generator, dtype=torch.float64) / width
    yield "constructed", passed(residual, x, *stop(target))
    yield "random", passed(residual, x, weight, torch.zeros_like(x))


def stop(target: Float[Tensor, " D"]) -> tuple[Float[Tensor, "D D"], Float[Tensor, " D"]]:
    """Return a sub-layer (matrix and bias) that is constructed to stop the gradient.

    The sub-layer subtracts its input, so that the sum with the skip connection is `target` for any
    input. A norm before the sub-layer prevents that, because the norm removes a part of the input
    that the skip connection keeps.
    """
    return -torch.eye(len(target), dtype=target.dtype), target


def passed(residual: Residual, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Return the largest singular value of d(output) / dx for a residual connection around a linear
    sub-layer with the given weight and bias.

    The output is the residual stream after the connection, or all streams if there are several. The
    norm at the end of the stack is not part of it.
    """

    def output(token: Tensor) -> Tensor:
        entered = residual.enter(token[None, None], None)
        stream = residual(0, entered, lambda read: read @ weight.T + bias, None)
        return torch.cat([stream] if isinstance(stream, Tensor) else [*stream], -1)[0, 0]

    jacobian = torch.autograd.functional.jacobian(output, x, vectorize=True)  # type: ignore[no-untyped-call]
    return torch.linalg.matrix_norm(jacobian, 2)


def gradients(
    stack: Stack, tokens: Tensor, real: Tensor, direction: Float[Tensor, "B L D"]
) -> dict[str, float]:
    """Return logarithms of gradient norms of a stack.

    The differentiated function is the scalar product of the stack's output with `direction`.

    Returns:
        first_over_last, vanishing, last_gradient, input_gradient: see `Depth.__call__`.
    """
    layers = list(stack.parameters_by_layer())
    (stack(tokens, real) * direction).sum().backward()
    first, last = (norm([p.grad for p in layer]) for layer in (layers[0], layers[-1]))
    ratio = torch.log10(first / last)
    return {
        "first_over_last": float(ratio),
        "vanishing": float((-ratio).clamp(min=0)),
        "last_gradient": float(last.log10()),
        "input_gradient": float(norm([tokens.grad]).log10()),
    }


def norm(parts: list[Tensor | None]) -> Float[Tensor, ""]:
    """Return the L2 norm of all entries of several gradients.

    A gradient is None, and does not count, if its parameter was not used.
    """
    return torch.stack([part.norm() for part in parts if part is not None]).norm()


@torch.no_grad()
def after_each_layer(
    stack: Stack, tokens: Float[Tensor, "B L D"], real: Bool[Tensor, "B L"]
) -> list[Float[Tensor, "B L D"]]:
    """Return the sum of token embeddings and positions, followed by the output that the stack would
    have if it ended after its first layer, after its second layer, and so on.
    """
    at = LayerContext(torch.arange(tokens.size(1))[None], stack.position, real, None, earlier=[])
    x = stack.position.embed(tokens, at.positions)
    stream = stack.residual.enter(x, real)
    calls = iter([partial(sublayer, at=at) for sublayer in stack.sublayers])
    reads = iter(stack.reads)
    outputs = [x]
    for layer in stack.order:
        for i, size in islice(reads, len(stack.sizes[layer])):
            together = partial(summed, list(islice(calls, size)))
            stream = stack.residual(i, stream, together, real)
        outputs.append(stack.residual.leave(stream, real))
    return outputs


def likeness(outputs: list[Float[Tensor, "B L D"]]) -> dict[str, float]:
    """Return similarities between tokens, between the last two layers, and between outputs and
    embeddings.

    `outputs` has the embeddings and then the output after each layer.

    Returns:
        token_cosine, stable_rank, layer_cosine, deletion, kept: see `Depth.__call__`.
    """
    before, last = outputs[-2:]
    length = last.size(1)
    unit, embedded = F.normalize(last, dim=-1), F.normalize(outputs[0], dim=-1)
    pairs = (unit @ unit.mT).sum((1, 2)) - length
    is_nearest = (unit @ embedded.mT).argmax(-1) == torch.arange(length)
    largest = torch.linalg.matrix_norm(last, 2).square()
    rank = last.square().sum((1, 2)) / largest
    return {
        "token_cosine": float(pairs.mean()) / (length * (length - 1)),
        "stable_rank": float(rank.mean()) / length,
        "layer_cosine": float(F.cosine_similarity(before, last, dim=-1).mean()),
        "deletion": float((last - before).norm() / last.norm()),
        "kept": float(is_nearest.double().mean()),
    }
