"""Check properties of position-wise feed-forward networks: positions, widths and signs.

Equation: f(x) = W2 relu(W1 x + b1) + b2.
Source: arXiv:1706.03762, section 3.3 ("two convolutions with kernel size 1").
What differs: random weights, widths and lengths in float64; no dropout. Networks of two layers come
    from the model, with random weights.
What to expect: positions do not affect each other; about half of the inner values are negative.
"""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from ablate.claims.probe.dependence.wires import moved
from ablate.claims.probe.random_models import RandomModels
from ablate.model.feed_forward.position_wise import PositionWise
from ablate.model.transformer import Transformer

WIDEST = 32  # upper limit for random d_model
POSITIVE = 1e3  # a bias that makes all inner values positive
# the largest value over the draws is reported, but the smallest for these
LEAST = (
    *("inner_change", "mixed", "own_position", "negative_share", "bend"),
    "between_layers",
)


class FeedForwardNetworks(RandomModels):
    """A probe that applies feed-forward networks of random widths to random vectors."""

    measures = (
        *("width_change", "inner_change", "other_positions", "mixed", "own_position"),
        *("between_positions", "between_layers"),
        *("relu_error", "negative_share", "bend", "bend_without_negatives"),
    )

    def __call__(self, model: Transformer) -> dict[str, float]:
        """Return the largest or the smallest value of each measurement over all draws.

        Largest: width_change: between output and input; other_positions: difference from a
        convolution of width 1, from processing single positions and from another order, and change
        by another position; between_positions: difference between outputs of the same vector at two
        positions; relu_error: inner values minus max(0, W1 x + b1); bend_without_negatives: `bend`
        if the bias makes all inner values positive. Smallest: inner_change: inner width minus input
        width; mixed: other_positions for a network that adds the mean of all positions;
        own_position: change by the same position; negative_share: fraction of negative W1 x + b1;
        bend: difference between f(a + b) + f(0) and f(a) + f(b); between_layers: difference between
        the outputs of two layers for the same vector.
        """
        measurements = [self.draw(*drawn) for drawn in self.models(model)]
        values = {name: [float(draw[name]) for draw in measurements] for name in measurements[0]}
        return {k: min(v) if k in LEAST else max(v) for k, v in values.items()}

    @torch.no_grad()
    def draw(self, model: Transformer, generator: torch.Generator) -> dict[str, Tensor]:
        """Return the measurements that `__call__` describes, for one network of random widths."""
        width, length = torch.randint(2, WIDEST, (2,), generator=generator).tolist()
        inner = width + int(torch.randint(1, 2 * WIDEST, (1,), generator=generator))
        network = PositionWise(d_model=width, d_ff=inner, dropout=0.0, activation="relu").double()
        for parameter in network.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator))
        x, other = torch.randn(2, 2, length, width, generator=generator).double()
        return {
            "width_change": torch.tensor(abs(network.transform(x).size(-1) - width)),
            "inner_change": torch.tensor(abs(network.inner(x).size(-1) - width)),
            **positions(network, x, other),
            **layers(model, generator),
            **signs(network, x, other),
        }


def positions(
    network: PositionWise, x: Float[Tensor, "B L D"], other: Float[Tensor, "B L D"]
) -> dict[str, Tensor]:
    """Return the difference from networks that see one position at a time, and the effect of a
    change at one position on all outputs.
    """
    y = network.transform(x)
    first = torch.cat([other[:, :1], x[:, 1:]], 1)
    again = network.transform(first)
    twice = network.transform(x[:, :1].expand_as(x))
    return {
        "other_positions": mixing(network.transform, network, x, first),
        "mixed": mixing(lambda z: network.transform(z + z.mean(1, True)), network, x, first),
        "own_position": moved(y[:, :1], again[:, :1]),
        "between_positions": moved(twice[:, :1].expand_as(twice), twice),
    }


def mixing(
    apply: Callable[[Tensor], Tensor], network: PositionWise, x: Tensor, first: Tensor
) -> Tensor:
    """Return how much `apply` differs from acting on each position separately: the largest of four
    differences.

    Args:
        apply: function of a sequence of vectors.
        network: position-wise network with which it is compared.
        x: input.
        first: the input with another first vector.
    """
    y = apply(x)
    inner = F.conv1d(x.mT, network.inner.weight[:, :, None], network.inner.bias).relu()
    convolved = F.conv1d(inner, network.outer.weight[:, :, None], network.outer.bias).mT
    alone = torch.cat([apply(x[:, i : i + 1]) for i in range(x.size(1))], 1)
    differences = [
        moved(y, convolved),
        moved(y, alone),
        moved(y.flip(1), apply(x.flip(1))),
        moved(y[:, 1:], apply(first)[:, 1:]),
    ]
    return torch.stack(differences).max()


def layers(model: Transformer, generator: torch.Generator) -> dict[str, Tensor]:
    """Return the difference between the outputs of the first two layers' networks for one vector;
    empty if the encoder has one layer.
    """
    networks = [layer["feed_forward"] for layer in model.encoder.layers]  # type: ignore[index]
    if len(networks) < 2:
        return {}
    x = torch.randn(1, 1, model.encoder.d_model, generator=generator).double()
    return {"between_layers": moved(networks[0].transform(x), networks[1].transform(x))}


def signs(
    network: PositionWise, x: Float[Tensor, "B L D"], other: Float[Tensor, "B L D"]
) -> dict[str, Tensor]:
    """Return the share of negative inner values, and how non-linear the network is with and without
    negative inner values.
    """
    inside: list[Tensor] = []
    hook = network.outer.register_forward_pre_hook(lambda _, given: inside.append(given[0]))
    network.transform(x)
    hook.remove()
    before = network.inner(x)
    measurements = {
        "relu_error": moved(inside[0], torch.where(before > 0, before, 0.0)),
        "negative_share": (before < 0).double().mean(),
        "bend": bend(network, x, other),
    }
    network.inner.bias.add_(POSITIVE)
    return {**measurements, "bend_without_negatives": bend(network, x, other)}


def bend(network: PositionWise, a: Tensor, b: Tensor) -> Tensor:
    """Return the largest entry of f(a + b) + f(0) - f(a) - f(b), which is 0 for an affine map f."""
    f = network.transform
    return moved(f(a + b) + f(torch.zeros_like(a)), f(a) + f(b))
