"""Linear attention as a net whose weights another net writes.

Equation: a fast weight programmer adds an outer product to a matrix at each step, W_t = W_(t-1) +
    to_t from_t^T, and the fast net answers W_t input_t. With from = f(k), to = v and input = f(q)
    that is the sum over j <= t of v_j f(k_j) f(q_t): causal linear attention.
Source: arXiv:2102.11174, sections 2 and 3, of Schmidhuber's programmers of 1991.
What differs: random weights and words in float64; the delta rule's programmer is that of
    arXiv:2102.11174, section 4.2, with the features of its level.
What to expect: rounding alone between both forms, and between their gradients, where nothing is
    normalised. Divided weights need the sum of the keys' features as a second state; every other
    assignment of the roles, the softmax and the delta rule give something else.
"""

import copy

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from ablate.claims.probe.attention.attention_loops import merged, projected, read
from ablate.claims.probe.random_models import RandomModels, extremes
from ablate.errors import UserError
from ablate.model.attention.delta_rule import DeltaRule
from ablate.model.attention.delta_rule import features as delta_features
from ablate.model.attention.explicit import Explicit
from ablate.model.attention.linear import EPS, LinearAttention
from ablate.model.attention.multi_head import SelfAttention
from ablate.model.padding.base import Mask
from ablate.model.transformer import Transformer

UPDATES, RATE = 20, 0.01  # of gradient descent with Adam
LEAST = ("softmax_error", "roles_swapped", "gradient_size", "loss_removed")
CAUSAL = Mask(causal=True)


class FastWeights(RandomModels):
    """Compares the causal self-attention of a decoder with a programmer, a word at a time.

    Raises:
        UserError: the attention is not model/attention=linear.
    """

    measures = (
        "one_matrix_error",
        "two_states_error",
        "uncausal_error",
        "softmax_error",
        "delta_error",
        "roles_swapped",
        "gradient_error",
        "gradient_size",
        "loss_removed",
    )

    def __call__(self, model: Transformer) -> dict[str, float]:
        """Return the extremes over all draws; the functions below say what they are of."""
        own = (part for part in model.modules() if isinstance(part, SelfAttention))
        causal = next(attention for attention in own if attention.causal)
        if not isinstance(causal.kernel, LinearAttention):
            raise UserError(
                "probe=fast_weights is about linear attention: set model/attention=linear"
            )
        found = [self.draw(*drawn) for drawn in self.models(causal)]
        return extremes(found, LEAST)

    def draw(self, attention: SelfAttention, generator: torch.Generator) -> dict[str, Tensor]:
        """Return the measurements under one set of weights."""
        width = attention.d_model
        x, wanted = torch.randn(2, self.length, width, generator=generator, dtype=torch.float64)
        with torch.no_grad():
            found = forms(attention, x) | others(attention, x)
        found |= gradients(attention, x, wanted) | descent(attention, x, wanted)
        return {name: torch.as_tensor(value, dtype=torch.float64) for name, value in found.items()}


def answers(
    source: Float[Tensor, "H L E"], to: Float[Tensor, "H L W"], given: Float[Tensor, "H L E"]
) -> Float[Tensor, "H L W"]:
    """Return what the fast net answers to each input after what is written until then."""
    fast, out = torch.zeros_like(to[:, 0, :, None] * source[:, 0, None]), []
    for t in range(to.size(1)):
        fast = fast + to[:, t, :, None] * source[:, t, None]
        out.append((fast @ given[:, t, :, None]).squeeze(2))
    return torch.stack(out, 1)


def programmed(attention: SelfAttention, x: Float[Tensor, "L D"]) -> Float[Tensor, "H L E"]:
    """Return what the heads give by that recurrence, with a second state where they are divided."""
    kernel = attention.kernel
    assert isinstance(kernel, LinearAttention)
    q, k, v = projected(attention, x, x)
    given, source = kernel.features(q[None])[0], kernel.features(k[None])[0]
    out = answers(source, v, given)
    if not kernel.normalised:
        return out
    return out / (answers(source, torch.ones_like(v[:, :, :1]), given) + EPS)


def apart(one: Tensor, other: Tensor) -> float:
    """Return the largest difference, relative to the largest number where that is above 1."""
    return float((one - other).abs().max() / one.abs().max().clamp(min=1))


def forms(attention: SelfAttention, x: Float[Tensor, "L D"]) -> dict[str, float]:
    """Compare the kernel with the programmer.

    one_matrix_error: their distance, the programmer having W alone; two_states_error: with the sum
    of the keys' features where the kernel divides; uncausal_error: the kernel reads all words and
    the programmer what is written so far; roles_swapped: the least distance with FROM and TO, FROM
    and INPUT, or both sides of the outer product exchanged.
    """
    kernel = attention.kernel
    assert isinstance(kernel, LinearAttention)
    heads = projected(attention, x, x)
    q, k, v = (of[None] for of in heads)
    given, source, swapped_source = (kernel.features(of[None])[0] for of in heads)
    out, to = kernel(q, k, v, CAUSAL, None)[0], heads[2]
    swapped = (
        answers(swapped_source, heads[1], given),
        answers(given, to, source),
        answers(to, source, given),
    )
    return {
        "one_matrix_error": apart(out, answers(source, to, given)),
        "two_states_error": apart(out, programmed(attention, x)),
        "uncausal_error": apart(kernel(q, k, v, Mask(), None)[0], answers(source, to, given)),
        "roles_swapped": min(apart(out, wrong) for wrong in swapped),
    }


def others(attention: SelfAttention, x: Float[Tensor, "L D"]) -> dict[str, float]:
    """Compare other kernels with programmers.

    softmax_error: the distance of softmax attention from the programmer with one matrix;
    delta_error: of the delta rule from a programmer that adds, with its features and strengths.
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
    adding = answers(source, strengths * heads[2], given)
    return {
        "softmax_error": apart(softmax(q, k, v, CAUSAL, None)[0], programmed(attention, x)),
        "delta_error": apart(delta(q, k, v, CAUSAL, None)[0], adding),
    }


def gradients(
    attention: SelfAttention, x: Float[Tensor, "L D"], wanted: Float[Tensor, "L D"]
) -> dict[str, float]:
    """Differentiate a squared error by the weights of the slow net, the three projections.

    gradient_error: the distance of the gradient through the programmer from that through attention,
    relative to the largest number; gradient_size: the largest number of the projection where it is
    smallest.
    """
    slow = [attention.query.weight, attention.key.weight, attention.value.weight]
    through = [
        torch.autograd.grad(F.mse_loss(out, wanted), slow)
        for out in (read(attention, x, x), slow_and_fast(attention, x))
    ]
    pairs = list(zip(*through, strict=True))
    return {
        "gradient_error": max(
            float((one - other).abs().max() / one.abs().max()) for one, other in pairs
        ),
        "gradient_size": min(float(fast.abs().max()) for _, fast in pairs),
    }


def slow_and_fast(attention: SelfAttention, x: Float[Tensor, "L D"]) -> Float[Tensor, "L D"]:
    """Return the output of attention whose heads are programmers."""
    return merged(attention, programmed(attention, x).transpose(0, 1).flatten(1))


def descent(
    attention: SelfAttention, x: Float[Tensor, "L D"], wanted: Float[Tensor, "L D"]
) -> dict[str, float]:
    """Train the slow net through the fast weights; return the share of the loss that it removes."""
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
    return {"loss_removed": 1 - losses[-1] / losses[0]}
