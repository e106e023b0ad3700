"""What depth does to gradients and to tokens before training, in a stack of encoder layers.

Equation: for random tokens X and a random direction G, the norms of d<G, f(X)> / d(layer); and for
    the outputs after each layer, as the stack would give them if it ended there, the cosines of
    tokens with one another, with themselves a layer before, and with the embeddings.
Source: arXiv:2002.04745, section 3 (gradients of the last layers); arXiv:2304.14802, section 2.2
    (layers of Pre-LN that grow alike); arXiv:2103.03404 (tokens that grow alike without skips).
What differs: gradients of a random direction in place of those of a loss, whose softmax could hide
    or make differences; the model is as `initial` left it, in float64.
What to expect: two gradient problems, large ones near the output of Post-LN and ones that vanish
    towards the input without skips, and two collapses: layers that add little (Pre-LN), tokens
    that grow alike (no skips, and Post-LN far up). The measure decides which is seen.
"""

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Annotated, NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn import functional as F

from ablate.config.limits import Count, Range
from ablate.data.vocabulary import PAD
from ablate.model.residual.base import Residual
from ablate.model.stack import Stack
from ablate.model.sublayer import Place
from ablate.model.transformer import Transformer
from ablate.probe.base import Probe
from ablate.probe.sentences import random_sentences
from ablate.seeding import stream

SENTENCES = 4
NORM_EPS = 1e-5  # what layer norms add to the variance


@dataclass(kw_only=True)
class Depth(Probe):
    """Runs random sentences through the encoder, and one token through its first residual.

    Args:
        draws: tokens for the constructed sub-layer.
        length: tokens of a sentence.
        seed: of sentences, directions and tokens.

    Raises:
        UserError: `draws` is below 1, or `length` below 2.
    """

    measures = (
        *("first_over_last", "vanishing", "last_gradient", "input_gradient"),
        *("token_cosine", "stable_rank", "layer_cosine", "deletion", "kept"),
        *("constructed", "random"),
    )

    draws: Count
    length: Annotated[int, Range(2)]
    seed: int

    def __call__(self, model: Transformer) -> dict[str, float]:
        """Return what depth does, and what a sub-layer can do to the gradient through a skip.

        first_over_last: the gradient of the first layer's parameters over the last one's, as a
        power of ten, and vanishing: how far that is below 0; last_gradient, input_gradient: powers
        of ten of the gradients of the last layer and of the stack's input. token_cosine: mean
        cosine of different tokens' outputs; stable_rank: of a sentence's outputs, over its tokens;
        layer_cosine: of a token's outputs after the last layer and the one before; deletion: how
        far outputs move without the last layer, over their size; kept: share of tokens whose output
        is most like their own embedding. constructed, random: the most that a gradient keeps of its
        size through one skip, past a sub-layer that is made to stop it (largest of the draws) and a
        random one (smallest).
        """
        fixed = copy.deepcopy(model).double().eval()
        generator = torch.Generator().manual_seed(stream(self.seed, type(self).__name__))
        src = random_sentences(fixed, [self.length] * SENTENCES, generator)
        x = fixed.encoder.position.embed(
            fixed.embedding.embed_src(src), torch.arange(self.length)[None]
        ).detach()
        outputs = after_each_layer(fixed.encoder, x, src != PAD)
        direction = torch.randn(x.shape, generator=generator, dtype=x.dtype)
        gates = [
            self.gate(fixed.encoder.residual, x.size(-1), generator) for _ in range(self.draws)
        ]
        return {
            **gradients(fixed.encoder, x.requires_grad_(), src != PAD, direction),
            **likeness(outputs),
            "constructed": max(gate.constructed for gate in gates),
            "random": min(gate.random for gate in gates),
        }

    def gate(self, residual: Residual, width: int, generator: torch.Generator) -> "Gate":
        """Return what passes through the first skip and the end of the stack, by a random token."""
        x, target = torch.randn(2, width, generator=generator, dtype=torch.float64)
        weight = torch.randn(width, width, generator=generator, dtype=torch.float64) / width
        constructed = (passed(residual, x, *stop) for stop in stops(x, target))
        return Gate(min(constructed), passed(residual, x, weight, torch.zeros_like(x)))


class Gate(NamedTuple):
    """Largest singular values of the derivative of a token's output by the token."""

    constructed: float
    random: float


def stops(
    x: Float[Tensor, " D"], target: Float[Tensor, " D"]
) -> Iterator[tuple[Float[Tensor, "D D"], Float[Tensor, " D"]]]:
    """Yield sub-layers, each a matrix and a bias, that are made to stop the gradient at x.

    One takes x away, so that the sum is `target` whatever x is. The other is for what reads
    u = norm(x): it takes away all but the direction of u, which the norm behind it removes.
    """
    identity = torch.eye(len(x), dtype=x.dtype)
    yield -identity, target
    centred = x - x.mean()
    along = centred / centred.norm()
    size = (centred.square().mean() + NORM_EPS).sqrt()
    yield -size * (identity - torch.outer(along, along)), torch.zeros_like(x)


def passed(residual: Residual, x: Tensor, weight: Tensor, bias: Tensor) -> float:
    """Return the largest singular value of d(output) / dx of a stack of one such sub-layer."""

    def output(token: Tensor) -> Tensor:
        entered = residual.enter(token[None, None], None)
        stream = residual.through(0, entered, lambda read: read @ weight.T + bias, None)
        return residual.leave(stream, None)[0, 0]

    jacobian = torch.autograd.functional.jacobian(output, x, vectorize=True)  # type: ignore[no-untyped-call]
    return float(torch.linalg.matrix_norm(jacobian, 2))


def gradients(
    stack: Stack, x: Tensor, real: Tensor, direction: Float[Tensor, "B L D"]
) -> dict[str, float]:
    """Return the sizes of gradients as powers of ten."""
    layers = list(stack.parameters_by_layer())
    (stack(x, real) * direction).sum().backward()
    first, last = (norm([p.grad for p in layer]) for layer in (layers[0], layers[-1]))
    ratio = float(torch.log10(first / last))
    return {
        "first_over_last": ratio,
        "vanishing": max(0.0, -ratio),
        "last_gradient": float(last.log10()),
        "input_gradient": float(norm([x.grad]).log10()),
    }


def norm(parts: list[Tensor | None]) -> Float[Tensor, ""]:
    """Return the norm of all gradients together; a parameter that is not used has none."""
    return torch.stack([part.norm() for part in parts if part is not None]).norm()


@torch.no_grad()
def after_each_layer(
    stack: Stack, x: Float[Tensor, "B L D"], real: Bool[Tensor, "B L"]
) -> list[Float[Tensor, "B L D"]]:
    """Return the input, and what the stack would give after each layer if it ended there."""
    at = Place(torch.arange(x.size(1))[None], stack.position, real, None)
    stream = stack.residual.enter(x, real)
    per_layer = len(stack.sublayers) // len(stack.layers)
    found = [x]
    for i, sublayer in enumerate(stack.sublayers):
        stream = stack.residual.through(i, stream, partial(sublayer, at=at), real)
        if (i + 1) % per_layer == 0:
            found.append(stack.residual.leave(stream, real))
    return found


def likeness(outputs: list[Float[Tensor, "B L D"]]) -> dict[str, float]:
    """Return how alike tokens, layers, and tokens and embeddings are."""
    before, last = outputs[-2:]
    length = last.size(1)
    unit, embedded = F.normalize(last, dim=-1), F.normalize(outputs[0], dim=-1)
    pairs = (unit @ unit.mT).sum((1, 2)) - length
    own = (unit @ embedded.mT).argmax(-1) == torch.arange(length)
    largest = torch.linalg.matrix_norm(last, 2).square()
    rank = last.square().sum((1, 2)) / largest
    return {
        "token_cosine": float(pairs.mean()) / (length * (length - 1)),
        "stable_rank": float(rank.mean()) / length,
        "layer_cosine": float(F.cosine_similarity(before, last, dim=-1).mean()),
        "deletion": float((last - before).norm() / last.norm()),
        "kept": float(own.double().mean()),
    }
