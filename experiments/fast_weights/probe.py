"""Check that linear attention equals a fast weight programmer, which sets another net's weights.

Equation: a fast weight programmer adds an outer product to a matrix at each step, W_t = W_(t-1) +
    to_t from_t^T, and the fast network returns W_t input_t. With from = f(k), to = v and input =
    f(q) that is the sum over j <= t of v_j f(k_j) f(q_t): causal linear attention.
Source: arXiv:2102.11174, sections 2 and 3, on Schmidhuber's programmers of 1991.
What differs: random weights and words in float64; the delta rule follows arXiv:2102.11174, section
    4.2.
What to expect: without normalisation, both forms and their gradients agree up to rounding.
    Normalised weights need the sum of the keys' features as a second state. Any other assignment of
    the roles, the softmax and the delta rule give different results.
"""

import copy

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from ablate.errors import UserError
from ablate.model.attention.explicit import Explicit
from ablate.model.attention.linear import EPS, DeltaRule, LinearAttention
from ablate.model.attention.linear import features as delta_features
from ablate.model.attention.multi_head import SelfAttention
from ablate.model.padding import Mask
from ablate.model.transformer import Transformer
from experiments.shared.probe.attention_loops import Words, merged, projected, read
from experiments.shared.probe.draws import Measured, RandomModels, moved

UPDATES, RATE = 20, 0.01  # steps and learning rate of Adam
CAUSAL = Mask(causal=True)


class FastWeights(RandomModels):
    """A probe that compares the causal self-attention of a decoder with a fast weight programmer
    that reads word by word.

    Raises:
        UserError: the attention is not model/attention=linear.
    """

    smallest = ("softmax_error", "roles_swapped", "gradient_size", "loss_removed")
    largest = (
        *("one_matrix_error", "two_states_error", "uncausal_error", "delta_error"),
        *("removing_error", "gradient_error"),
    )

    def __call__(self, model: Transformer) -> dict[str, float]:
        """Return the largest or smallest value of each measurement over all random models.

        The functions of this module describe their measurements.
        """
        modules = (part for part in model.modules() if isinstance(part, SelfAttention))
        causal = next(attention for attention in modules if attention.causal)
        if not isinstance(causal.kernel, LinearAttention):
            raise UserError(
                "probe=fast_weights is about linear attention: set model/attention=linear"
            )
        return super().__call__(causal)

    def draw(self, attention: SelfAttention, generator: torch.Generator) -> Measured:
        """Yield the measurements of one attention with random weights.

        The functions of this module describe their measurements.
        """
        width = attention.d_model
        x, wanted = torch.randn(2, self.length, width, generator=generator, dtype=torch.float64)
        yield from forms(attention, x)
        yield from other_kernels(attention, x)
        yield from gradients(attention, x, wanted)
        yield "loss_removed", descent(attention, x, wanted)


def answers(
    source: Float[Tensor, "H L E"],
    to: Float[Tensor, "H L W"],
    given: Float[Tensor, "H L E"],
    removed: Float[Tensor, "H L 1"] | None = None,
) -> Float[Tensor, "H L W"]:
    """Return W_t g_t for each word t: the output of a fast network, that is, a network whose weight
    matrix W changes at each word.

    W_t is the sum of the outer products of `to` and `source` at the words up to t, and g_t is the
    vector of word t in `given`. With `removed`, this fraction of the output for the word's `source`
    is subtracted from its `to` first.
    """
    fast, out = torch.zeros_like(to[:, 0, :, None] * source[:, 0, None]), []
    for t in range(to.size(1)):
        written = to[:, t, :, None]
        if removed is not None:
            written = written - removed[:, t, :, None] * (fast @ source[:, t, :, None])
        fast = fast + written * source[:, t, None]
        out.append((fast @ given[:, t, :, None]).squeeze(2))
    return torch.stack(out, 1)


def programmed(attention: SelfAttention, x: Words) -> Float[Tensor, "H L E"]:
    """Return the output of each head of linear attention, computed word by word by a fast weight
    programmer: a network whose weight matrix changes at each word.

    The programmer has a second state for normalisation, the sum of the features of the keys.
    """
    kernel = attention.kernel
    assert isinstance(kernel, LinearAttention)
    q, k, v = projected(attention, x, x)
    given, source = kernel.features(q[None])[0], kernel.features(k[None])[0]
    out = answers(source, v, given)
    if not kernel.normalised:
        return out
    return out / (answers(source, torch.ones_like(v[:, :, :1]), given) + EPS)


def apart(first: Tensor, other: Tensor) -> Tensor:
    """Return the largest absolute difference between two tensors, divided by the largest absolute
    value of `first` if this value is above 1.
    """
    return (first - other).abs().max() / first.abs().max().clamp(min=1)


def forms(attention: SelfAttention, x: Words) -> Measured:
    """Yield differences between linear attention and the fast weight programmer, a network that
    adds an outer product of two vectors to a weight matrix W at each step.

    Yields:
        one_matrix_error: difference of the outputs if W is the only state of the programmer.
        two_states_error: difference of the outputs if the programmer also has the sum of the keys'
            features as a second state. Only normalised attention needs this state.
        uncausal_error: difference of the outputs if W is the only state, and if each query of
            linear attention reads all words instead of only the words up to its own.
        roles_swapped: difference of the outputs over three wrong programmers, in which
            keys are exchanged with values, keys with queries, or the two sides of the outer
            product with each other.
    """
    kernel = attention.kernel
    assert isinstance(kernel, LinearAttention)
    heads = projected(attention, x, x)
    q, k, v = (of[None] for of in heads)
    given, source, swapped_source = (kernel.features(of[None])[0] for of in heads)
    out, to = kernel(q, k, v, CAUSAL, None)[0], heads[2]
    yield "one_matrix_error", apart(out, answers(source, to, given))
    yield "two_states_error", apart(out, programmed(attention, x))
    everything = kernel(q, k, v, Mask(), None)[0]
    yield "uncausal_error", apart(everything, answers(source, to, given))
    for wrong in (
        answers(swapped_source, heads[1], given),
        answers(given, to, source),
        answers(to, source, given),
    ):
        yield "roles_swapped", apart(out, wrong)


def other_kernels(attention: SelfAttention, x: Words) -> Measured:
    """Compare softmax attention and the delta rule with fast weight programmers, networks that add
    an outer product to a weight matrix at each step.

    The delta rule has its own feature map, whatever the feature map of `attention`.

    Yields:
        softmax_error: difference between softmax attention and the function `programmed`.
        delta_error: difference between the delta rule and a programmer that only adds outer
            products.
        removing_error: difference between the delta rule and a programmer that first removes the
            output for the same key.
    """
    heads = projected(attention, x, x)
    q, k, v = (of[None] for of in heads)
    d_head = attention.d_head
    softmax = Explicit(d_head=d_head, dropout=0.0, scale="sqrt_d_head", fill="zero_output")
    delta = DeltaRule(d_head=d_head, dropout=0.0).double()
    delta.strength.weight.copy_(attention.query.weight[:1, :d_head])
    delta.strength.bias.zero_()
    given, source = (delta_features(of) for of in heads[:2])
    strengths = delta.strength(heads[1]).sigmoid()
    out, to = delta(q, k, v, CAUSAL, None)[0], strengths * heads[2]
    yield "softmax_error", apart(softmax(q, k, v, CAUSAL, None)[0], programmed(attention, x))
    yield "delta_error", apart(out, answers(source, to, given))
    yield "removing_error", apart(out, answers(source, to, given, strengths))


def gradients(attention: SelfAttention, x: Words, wanted: Words) -> Measured:
    """Yield differences between gradients through the fast weight programmer and through attention,
    for each of the three projections (the slow network).

    Yields:
        gradient_error: relative difference between the gradients of a squared error.
        gradient_size: largest absolute entry of the gradient through the programmer.
    """
    slow = [attention.query.weight, attention.key.weight, attention.value.weight]
    with torch.enable_grad():
        outputs = read(attention, x, x), slow_and_fast(attention, x)
        errors = [F.mse_loss(out, wanted) for out in outputs]
    plain, fast = (torch.autograd.grad(error, slow) for error in errors)
    for first, other in zip(plain, fast, strict=True):
        yield "gradient_error", moved(first, other) / first.abs().max()
        yield "gradient_size", other.abs().max()


def slow_and_fast(attention: SelfAttention, x: Words) -> Words:
    """Return the output of an attention module in which fast weight programmers take the place of
    the heads.
    """
    return merged(attention, programmed(attention, x).transpose(0, 1).flatten(1))


@torch.enable_grad()
def descent(attention: SelfAttention, x: Words, wanted: Words) -> float:
    """Train the query, key and value projections such that the output of fast weight programmers
    approaches the `wanted` output. Return the fraction by which this reduces the mean squared
    error.

    The module itself is not changed.
    """
    trained = copy.deepcopy(attention)
    slow = [trained.query.weight, trained.key.weight, trained.value.weight]
    optimizer = torch.optim.Adam(slow, lr=RATE)
    losses = []
    for _ in range(UPDATES + 1):
        loss = F.mse_loss(slow_and_fast(trained, x), wanted)
        losses.append(float(loss.detach()))
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    return 1 - losses[-1] / losses[0]
