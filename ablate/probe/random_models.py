"""What probes share that try random sentences under random weights."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from ablate.errors import UserError
from ablate.model.transformer import Transformer
from ablate.probe.base import Probe
from ablate.probe.sentences import randomised
from ablate.seeding import stream


class RandomModels(Probe):
    """A probe that looks at `draws` random weights.

    Args:
        draws: weights and sentences that are tried.
        length: tokens of a sentence, on either side.
        seed: of weights and sentences.

    Raises:
        UserError: `draws` is below 1, or `length` too short for the probe.
    """

    SHORTEST = 2

    def __init__(self, *, draws: int, length: int, seed: int) -> None:
        for key, value, least in (("draws", draws, 1), ("length", length, self.SHORTEST)):
            if value < least:
                raise UserError(f"probe.{key} is {value}: it must be at least {least}")
        self.draws, self.length, self.seed = draws, length, seed

    def models(self, model: Transformer) -> Iterator[tuple[Transformer, torch.Generator]]:
        """Yield the model under each of the weights, and what its sentences are drawn with."""
        for number in range(self.draws):
            name = f"{type(self).__name__}/{number}"
            generator = torch.Generator().manual_seed(stream(self.seed, name))
            yield randomised(model, generator), generator


@contextmanager
def seeded(generator: torch.Generator) -> Iterator[None]:
    """Let what draws from torch's own generator, such as dropout, follow from this one."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(torch.randint(2**62, (1,), generator=generator)))
        yield
