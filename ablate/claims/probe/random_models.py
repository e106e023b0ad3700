"""What probes share that try random sentences under random weights."""

import copy
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, TypeVar

import torch
from jaxtyping import Int
from torch import Tensor, nn

from ablate.config.limits import Count, Range
from ablate.data.vocabulary import EOS
from ablate.probe.base import Probe
from ablate.seeding import stream

NOISE = 0.1  # standard deviation
Part = TypeVar("Part", bound=nn.Module)  # a model, or a part of one


@dataclass(kw_only=True)
class RandomModels(Probe):
    """A probe that looks at `draws` random weights.

    Args:
        draws: weights and sentences that are tried.
        length: tokens of a sentence, on either side.
        seed: of weights and sentences.

    Raises:
        UserError: `draws` is below 1, or `length` too short for the probe.
    """

    draws: Count
    length: Annotated[int, Range(2)]
    seed: int

    def models(self, model: Part) -> Iterator[tuple[Part, torch.Generator]]:
        """Yield the model, or a part, under each of the weights, with what draws its sentences."""
        for number in range(self.draws):
            name = f"{type(self).__name__}/{number}"
            generator = torch.Generator().manual_seed(stream(self.seed, name))
            yield randomised(model, generator), generator


def extremes(found: list[dict[str, Tensor]], least: Collection[str]) -> dict[str, float]:
    """Return over all draws the largest value of each measure, the smallest of those in `least`."""
    values = {name: torch.stack([one[name] for one in found]) for name in found[0]}
    return {k: float(v.min() if k in least else v.max()) for k, v in values.items()}


@contextmanager
def seeded(generator: torch.Generator) -> Iterator[None]:
    """Let what draws from torch's own generator, such as dropout, follow from this one."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(torch.randint(2**62, (1,), generator=generator)))
        yield


def each_replaced(ids: Int[Tensor, "1 L"]) -> Int[Tensor, "M L"]:
    """Return the sentence, and once for every position the sentence with another token there."""
    others = torch.where(ids == EOS + 1, EOS + 2, EOS + 1)
    diagonal = torch.eye(ids.size(1), dtype=torch.bool)
    return torch.cat([ids, torch.where(diagonal, others, ids)])


def randomised(model: Part, generator: torch.Generator) -> Part:
    """Return a float64 copy with noise on every parameter, biases and gains too, for evaluation.

    At their initial values biases are 0 and gains 1, where some differences cannot show.
    """
    other = copy.deepcopy(model).double().eval()
    with torch.no_grad():
        for parameter in other.parameters():
            noise = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
            parameter.add_(noise, alpha=NOISE)
    return other
