"""Check properties of position-wise feed-forward networks: positions, widths and signs.

Equation: f(x) = W2 relu(W1 x + b1) + b2.
Source: arXiv:1706.03762, section 3.3 ("two convolutions with kernel size 1").
What differs: random weights, widths and lengths in float64; no dropout. Networks of two layers come
    from the model, with random weights.
What to expect: positions do not affect each other; ReLU changes about half of the inner values.
"""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from ablate.model.feed_forward import PositionWise
from ablate.model.transformer import Transformer
from experiments.shared.probe.draws import Measured, RandomModels, moved

WIDEST = 32  # upper limit for random d_model
POSITIVE = 1e3  # a bias that makes all inner values positive


class FeedForwardNetworks(RandomModels):
    """A probe that applies feed-forward networks of random widths to random vectors."""

    largest = (
        *("width_change", "other_positions", "between_positions", "relu_error"),
        "bend_without_negatives",
    )
    smallest = (
        *("inner_change", "mixed", "own_position", "without_relu", "bend"),
        "between_layers",
    )

    def draw(self, model: Transformer, generator: torch.Generator) -> Measured:
        """Yield the measurements of one network of random widths, weights and inputs.

        The inner values of a feed-forward network are W1 x + b1.

        Yields:
            width_change: largest difference between the output width and the input width.
            inner_change: smallest difference between the inner width and the input width.
            other_positions: largest difference between the network and a function that acts on each
                position separately, measured as in `mixing`.
            mixed: smallest such difference if the mean over all positions is added to every input
                vector of the network. This is a control.
            own_position: smallest change of the output at the first position if the vector at this
                position is replaced.
            between_positions: largest difference between the outputs for the same vector at
                different positions.
            between_layers: smallest difference between the outputs of the networks of two layers
                for the same vector.
            relu_error: largest difference between the inner values after the activation and max(0,
                W1 x + b1).
            without_relu: smallest such difference if the inner values are not changed. This is a
                control.
            bend: smallest deviation of the network from an affine map, f(a + b) + f(0) - f(a) -
                f(b).
            bend_without_negatives: largest such deviation if the bias b1 makes all inner values
                positive.
        """
        width, length = torch.randint(2, WIDEST, (2,), generator=generator).tolist()
        inner = width + int(torch.randint(1, 2 * WIDEST, (1,), generator=generator))
        network = PositionWise(d_model=width, d_ff=inner, dropout=0.0, activation="relu").double()
        for parameter in network.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator))
        x, other = torch.randn(2, 2, length, width, generator=generator).double()
        yield "width_change", abs(network.transform(x).size(-1) - width)
        yield "inner_change", abs(network.inner(x).size(-1) - width)
        yield from positions(network, x, other)
        yield from layers(model, generator)
        yield from signs(network, x, other)


def positions(
    network: PositionWise, x: Float[Tensor, "B L D"], other: Float[Tensor, "B L D"]
) -> Measured:
    """Yield how much an output of a network depends on the inputs at other positions, on the input
    at its own position, and on the number of its position.

    Args:
        network: the feed-forward network.
        x: input vectors.
        other: other input vectors. The first vector of each sequence replaces the first vector in
            x.

    Yields:
        other_positions, mixed, own_position, between_positions: see `FeedForwardNetworks.draw`.
    """
    y = network.transform(x)
    first = torch.cat([other[:, :1], x[:, 1:]], 1)
    again = network.transform(first)
    twice = network.transform(x[:, :1].expand_as(x))
    yield "other_positions", mixing(network.transform, network, x, first)
    yield "mixed", mixing(lambda z: network.transform(z + z.mean(1, True)), network, x, first)
    yield "own_position", moved(y[:, :1], again[:, :1])
    yield "between_positions", moved(twice[:, :1], twice)


def mixing(
    apply: Callable[[Tensor], Tensor], network: PositionWise, x: Tensor, first: Tensor
) -> Tensor:
    """Return how much `apply` differs from the network, which acts on each position separately.

    The value is the largest of four differences: between `apply` and two convolutions of width 1
    with the weights of the network; between `apply` for the sequence and for single positions;
    between reversed outputs and the outputs for reversed inputs; and between the outputs for `x`
    and for `first` at all positions except the first.

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


def layers(model: Transformer, generator: torch.Generator) -> Measured:
    """Compare the feed-forward networks of the first and the second encoder layer, if there are
    two.

    Yields:
        between_layers: largest difference between the outputs of the networks for one random
            vector.
    """
    networks = [layer["feed_forward"] for layer in model.encoder.layers]  # type: ignore[index]
    if len(networks) > 1:
        x = torch.randn(1, 1, model.encoder.d_model, generator=generator).double()
        yield "between_layers", moved(networks[0].transform(x), networks[1].transform(x))


def signs(
    network: PositionWise, x: Float[Tensor, "B L D"], other: Float[Tensor, "B L D"]
) -> Measured:
    """Yield measurements of the signs of the inner values, and of the deviation from an affine
    map.

    The network is changed: afterwards, its bias makes all inner values positive.

    Yields:
        relu_error, without_relu, bend, bend_without_negatives: see
            `FeedForwardNetworks.draw`.
    """
    inside: list[Tensor] = []
    with network.outer.register_forward_pre_hook(lambda _, given: inside.append(given[0])):
        network.transform(x)
    before = network.inner(x)
    expected = torch.where(before > 0, before, 0.0)
    yield "relu_error", moved(inside[0], expected)
    yield "without_relu", moved(before, expected)
    yield "bend", bend(network, x, other)
    network.inner.bias.add_(POSITIVE)
    yield "bend_without_negatives", bend(network, x, other)


def bend(network: PositionWise, a: Tensor, b: Tensor) -> Tensor:
    """Return the largest entry of f(a + b) + f(0) - f(a) - f(b), which is 0 for an affine map f."""
    f = network.transform
    return moved(f(a + b) + f(torch.zeros_like(a)), f(a) + f(b))
