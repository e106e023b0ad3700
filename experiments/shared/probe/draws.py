"""Base classes of probes that use random inputs or random weights, and what such probes share."""

import copy
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, TypeVar, dataclass_transform

import torch
from jaxtyping import Int
from torch import Tensor, nn

from ablate.config.limits import Count, Range
from ablate.data import EOS
from ablate.probe import Probe, random_sentences
from ablate.process import stream

NOISE = 0.1  # standard deviation of the noise that is added to parameters
Part = TypeVar("Part", bound=nn.Module)  # a model, or a part of it
# names of measurements, each with a value or with a tensor of values; a name may occur repeatedly
Measured = Iterator[tuple[str, float | Tensor]]


@dataclass_transform(kw_only_default=True)
@dataclass(kw_only=True)
class Draws(Probe):
    """A probe that repeats its measurements `draws` times, each time with new random numbers.

    A subclass lists the names of its measurements in four class attributes. For names in
    `largest`, `smallest` and `mean`, the probe reports the largest value, the smallest value and
    the mean over all draws. A name in `single` has one value, which does not depend on the draws.
    Each subclass becomes a dataclass without a decorator.

    Args:
        draws: number of repetitions, each with other random numbers.
        seed: seed of the random numbers.

    Raises:
        UserError: `draws` is below 1.
    """

    largest: ClassVar[tuple[str, ...]] = ()
    smallest: ClassVar[tuple[str, ...]] = ()
    mean: ClassVar[tuple[str, ...]] = ()
    single: ClassVar[tuple[str, ...]] = ()
    dtype: ClassVar[torch.dtype] = torch.float64  # type of the values that are reported

    draws: Count
    seed: int

    def __init_subclass__(cls) -> None:
        dataclass(kw_only=True)(cls)
        cls.measures = (*cls.largest, *cls.smallest, *cls.mean, *cls.single)

    def generator(self, name: str = "") -> torch.Generator:
        """Return a random generator for the whole probe, or for the part of it with a name."""
        return torch.Generator().manual_seed(stream(self.seed, name or type(self).__name__))

    def models(self, model: Part) -> Iterator[tuple[Part, torch.Generator]]:
        """Yield `draws` copies of a model (or of a part) with random weights, each with a generator
        for its sentences.

        Modules of torch.nn that a probe makes take their initial values from torch's global
        generator, so it is seeded for each model.
        """
        for number in range(self.draws):
            name = f"{type(self).__name__}/{number}"
            generator = self.generator(name)
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(stream(self.seed, f"{name}/modules"))
                yield randomised(model, generator), generator

    def reduced(self, draws: Iterable[Measured]) -> dict[str, float]:
        """Return the largest, smallest or mean value of each measurement over all draws."""
        return reduced(draws, self.smallest, self.mean, self.dtype)


class RandomModels(Draws):
    """A probe that repeats its measurements for `draws` models with random weights.

    Args:
        draws: number of models with random weights, each with random sentences.
        length: number of tokens in each source and each target sentence.
        seed: seed of weights and sentences.

    Raises:
        UserError: `draws` is below 1, or `length` is too short for the probe.
    """

    length: Annotated[int, Range(2)]

    def __call__(self, model: Any) -> dict[str, float]:
        """Return the largest, smallest or mean value of each measurement that `draw` yields."""
        return self.reduced(self.draw(*drawn) for drawn in self.models(model))

    def draw(self, model: Any, generator: torch.Generator) -> Measured:
        """Yield the name and the value of each measurement of one draw. A subclass defines this
        method, or `__call__` itself.

        Gradients are off. A `with torch.enable_grad()` block switches them on. Such a block must
        not contain a `yield`, after which the caller would run with gradients, too.

        Args:
            model: a model with random weights.
            generator: the generator of random numbers for the inputs of the model.
        """
        raise NotImplementedError

    def sentence_pair(self, model: Any, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Return the ids "1 L" of a random source and of a random target, of `length` tokens."""
        src, tgt = (random_sentences(model, [self.length], generator) for _ in range(2))
        return src, tgt


@torch.no_grad()
def reduced(
    draws: Iterable[Measured],
    smallest: Collection[str] = (),
    mean: Collection[str] = (),
    dtype: torch.dtype = torch.float64,
) -> dict[str, float]:
    """Return the largest value of each measurement over all draws; the smallest value of those that
    `smallest` names, and the mean of those that `mean` names.

    If a value is NaN, the result is NaN. All values are first rounded to `dtype`.
    """
    values: defaultdict[str, list[Tensor]] = defaultdict(list)
    for draw in draws:
        for name, value in draw:
            values[name].append(torch.as_tensor(value, dtype=dtype).flatten())
    reductions = {name: torch.min for name in smallest} | {name: torch.mean for name in mean}
    return {k: float(reductions.get(k, torch.max)(torch.cat(v))) for k, v in values.items()}


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


def first_part(model: nn.Module, kind: type[Part]) -> Part:
    """Return the first module of a class in a model."""
    return next(part for part in model.modules() if isinstance(part, kind))


def moved(first: Tensor, other: Tensor | float) -> Tensor:
    """Return the largest absolute difference between two tensors, or of a tensor from a number."""
    return (first - other).abs().max()


def raises(compute: Callable[[], object], *errors: type[Exception]) -> bool:
    """Return whether a computation raises an error of one of these classes."""
    try:
        compute()
    except errors:
        return True
    return False
