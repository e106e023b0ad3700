"""What a position-wise feed-forward network does to positions, widths and signs.

Equation: f(x) = W2 relu(W1 x + b1) + b2.
Source: arXiv:1706.03762, section 3.3 ("two convolutions with kernel size 1").
What differs: random weights, widths and lengths in float64; no dropout. The networks of two layers
    are those of the model, with random weights.
What to expect: nothing of one position in another; about half of what is inside below 0.
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

WIDEST = 32  # d_model that is drawn at most
POSITIVE = 1e3  # a bias under which nothing inside is below 0
# of all draws the largest counts, but for these the smallest
LEAST = (
    *("inner_change", "mixed", "own_position", "negative_share", "bend"),
    "between_layers",
)


class FeedForwardNetworks(RandomModels):
    """Draws networks of all widths and gives them random vectors."""

    measures = (
        *("width_change", "inner_change", "other_positions", "mixed", "own_position"),
        *("between_positions", "between_layers"),
        *("relu_error", "negative_share", "bend", "bend_without_negatives"),
    )

    def __call__(self, model: Transformer) -> dict[str, float]:
        """Return the extremes over all draws.

        Largest: width_change: of the output against the input; other_positions: how far the output
        is from a convolution of width 1, from one position at a time, from itself in another order,
        and moves with another position; between_positions: outputs of one vector at two positions;
        relu_error: what is inside less max(0, W1 x + b1); bend_without_negatives: bend where
        nothing is below 0. Smallest: inner_change: of the inner width against that of the input;
        mixed: other_positions of a network that adds the mean of all positions; own_position: how
        far the output moves with its own; negative_share: of W1 x + b1 below 0; bend: the distance
        of f(a + b) + f(0) from f(a) + f(b); between_layers: outputs of two layers for one vector.
        """
        found = [self.draw(*drawn) for drawn in self.models(model)]
        values = {name: [float(one[name]) for one in found] for name in found[0]}
        return {k: min(v) if k in LEAST else max(v) for k, v in values.items()}

    @torch.no_grad()
    def draw(self, model: Transformer, generator: torch.Generator) -> dict[str, Tensor]:
        """Return the measurements for one network of random widths."""
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
    """Compare with networks that see one position, and look for any trace of another."""
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
    """Return how far `apply` is from acting on each position alone, by four measures."""
    y = apply(x)
    inner = F.conv1d(x.mT, network.inner.weight[:, :, None], network.inner.bias).relu()
    convolved = F.conv1d(inner, network.outer.weight[:, :, None], network.outer.bias).mT
    alone = torch.cat([apply(x[:, i : i + 1]) for i in range(x.size(1))], 1)
    found = [
        moved(y, convolved),
        moved(y, alone),
        moved(y.flip(1), apply(x.flip(1))),
        moved(y[:, 1:], apply(first)[:, 1:]),
    ]
    return torch.stack(found).max()


def layers(model: Transformer, generator: torch.Generator) -> dict[str, Tensor]:
    """Compare the networks of two layers of the model; nothing where it has one."""
    networks = [layer["feed_forward"] for layer in model.encoder.layers]  # type: ignore[index]
    if len(networks) < 2:
        return {}
    x = torch.randn(1, 1, model.encoder.d_model, generator=generator).double()
    return {"between_layers": moved(networks[0].transform(x), networks[1].transform(x))}


def signs(
    network: PositionWise, x: Float[Tensor, "B L D"], other: Float[Tensor, "B L D"]
) -> dict[str, Tensor]:
    """Look at what the activation does to what is below 0, and to sums."""
    inside: list[Tensor] = []
    hook = network.outer.register_forward_pre_hook(lambda _, given: inside.append(given[0]))
    network.transform(x)
    hook.remove()
    before = network.inner(x)
    found = {
        "relu_error": moved(inside[0], torch.where(before > 0, before, 0.0)),
        "negative_share": (before < 0).double().mean(),
        "bend": bend(network, x, other),
    }
    network.inner.bias.add_(POSITIVE)
    return {**found, "bend_without_negatives": bend(network, x, other)}


def bend(network: PositionWise, a: Tensor, b: Tensor) -> Tensor:
    """Return how far the network is from an affine map, for which this is 0."""
    f = network.transform
    return moved(f(a + b) + f(torch.zeros_like(a)), f(a) + f(b))
