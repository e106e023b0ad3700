"""Base class of probes that use random sentences and random weights."""

import copy
from abc import abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, TypeVar

import torch
from jaxtyping import Int
from torch import Tensor, nn

from ablate.config.limits import Count, Range
from ablate.data.vocabulary import EOS
from ablate.probe.base import Probe
from ablate.seeding import stream

NOISE = 0.1  # standard deviation of the noise that is added to parameters
Part = TypeVar("Part", bound=nn.Module)  # a model, or a part of it


@dataclass(kw_only=True)
class RandomModels(Probe):
    """A probe that takes the largest, smallest or mean value of its measurements over `draws`
    random models.

    Args:
        draws: number of models with random weights, each with random sentences.
        length: number of tokens in each source and each target sentence.
        seed: seed of weights and sentences.

    Raises:
        UserError: `draws` is below 1, or `length` is too short for the probe.
    """

    draws: Count
    length: Annotated[int, Range(2)]
    seed: int

    def models(self, model: Part) -> Iterator[tuple[Part, torch.Generator]]:
        """Yield `draws` copies of a model (or of a part) with random weights, each with a generator
        for its sentences.

        Modules of torch.nn that a probe makes take their initial values from torch's global
        generator, so it is seeded for each model.
        """
        for number in range(self.draws):
            name = f"{type(self).__name__}/{number}"
            generator = torch.Generator().manual_seed(stream(self.seed, name))
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(stream(self.seed, f"{name}/modules"))
                yield randomised(model, generator), generator


class ExtremesOfModels(RandomModels):
    """A probe that reports the largest value of each measurement over `draws` random models, or the
    smallest value if `least` names the measurement.
    """

    least: ClassVar[Collection[str]] = ()
    dtype: ClassVar[torch.dtype] = torch.float64  # type of the values that are reported

    def __call__(self, model: Any) -> dict[str, float]:
        """Return the largest or smallest values of the measurements that `draw` describes."""
        draws = [self.draw(*drawn) for drawn in self.models(model)]
        return extremes(draws, self.least, self.dtype)

    @abstractmethod
    def draw(self, model: Any, generator: torch.Generator) -> Mapping[str, float | Tensor]:
        """Return the measurements of one random model, whose inputs `generator` draws."""


def extremes(
    draws: Sequence[Mapping[str, float | Tensor]],
    least: Collection[str],
    dtype: torch.dtype = torch.float64,
) -> dict[str, float]:
    """Return for each measurement its largest value over the draws, or its smallest value if
    `least` names it.

    `draws` has the measurements of each random model. The values are rounded to `dtype`.
    """
    values = {
        name: torch.tensor([float(draw[name]) for draw in draws], dtype=dtype) for name in draws[0]
    }
    return {k: float(v.min() if k in least else v.max()) for k, v in values.items()}


@contextmanager
def seeded(generator: torch.Generator) -> Iterator[None]:
    """Seed torch's global generator, which dropout uses, from `generator` within a `with` block."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(torch.randint(2**62, (1,), generator=generator)))
        yield


def each_replaced(ids: Int[Tensor, "1 L"]) -> Int[Tensor, "M L"]:
    """Return a sentence, followed by L variants of it (M = L + 1): in variant i, another token
    replaces token i.
    """
    replacements = torch.where(ids == EOS + 1, EOS + 2, EOS + 1)
    diagonal = torch.eye(ids.size(1), dtype=torch.bool)
    return torch.cat([ids, torch.where(diagonal, replacements, ids)])


def randomised(model: Part, generator: torch.Generator) -> Part:
    """Return a float64 copy of a model in evaluation mode, with noise added to every parameter.

    Initial biases are 0 and initial gains are 1, which could hide differences.
    """
    other = copy.deepcopy(model).double().eval()
    with torch.no_grad():
        for parameter in other.parameters():
            noise = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
            parameter.add_(noise, alpha=NOISE)
    return other
