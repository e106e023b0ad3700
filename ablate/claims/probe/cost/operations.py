"""What a work costs without a clock, how that grows with length, and that two ways are one.

Equation: an exponent is log2 of what a length costs over what half of it costs, and products_from_2
    is that of products, less 2; share is a work's products over these and those of the rest of the
    layer; error is the largest difference from the
    other way to the same result, relative to the largest number of the result.
Source: what is counted, and how: `counting` beside this file; the works: `works`.
What differs: counted on shapes alone, so that no length is too long. An error is that of real
    numbers: of `draws` inputs of random lengths up to `longest`, in float64, float32 and bfloat16.
What to expect: exact numbers, the same on every machine; they say nothing of caches and of the
    time that it takes to begin an operation.
"""

import math
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

import torch
from torch import Tensor

from ablate.claims.probe.cost.counting import COUNTS, counted, without_values
from ablate.claims.probe.cost.of_work import OfWork, made
from ablate.claims.probe.cost.works import EQUAL, Sizes
from ablate.config.limits import Range

TYPES = {"float64": torch.float64, "float32": torch.float32, "bfloat16": torch.bfloat16}
GROWING = ("products", "peak_bytes")
POWERS = (1, 2, 3)
PER_TOKEN = ("products", "calls", "peak_bytes")
BESIDE = ("products", "numbers", "peak_bytes")


@dataclass(kw_only=True)
class Operations(OfWork):
    """Counts a work, and compares it with the other way to its result where there is one.

    Args:
        draws: inputs that are compared.
        longest: tokens of the longest of them.

    Raises:
        UserError: `draws` is below 0, `longest` below 2, or anything that OfWork refuses.
    """

    measures = (
        *COUNTS,
        *("share", "control"),
        *(f"{name}_each" for name in PER_TOKEN),
        *(f"{name}_of_explicit" for name in BESIDE),
        *(f"{name}_exponent" for name in GROWING),
        *(f"{name}_from_{power}" for name in GROWING for power in POWERS),
        *(f"error_{name}" for name in TYPES),
    )

    draws: Annotated[int, Range(0)]
    longest: Annotated[int, Range(2)]

    def __call__(self, model: Any) -> dict[str, float]:
        """Return the counts, their growth, and the largest errors over all draws.

        What ends in `each` is per token of a sentence, in `of_explicit` as a multiple of what
        softmax attention takes at these sizes; control is the least difference when the values are
        moved on by one token.
        """
        found, half = (self.counts(sizes) for sizes in (self.sizes, self.halved()))
        rest = counts_of("rest", self.sizes, self.seed)["products"]
        beside = counts_of("explicit", self.sizes, self.seed)
        powers = {name: exponent(found[name], half[name]) for name in GROWING}
        return {
            **found,
            "share": found["products"] / (found["products"] + rest),
            **{f"{name}_each": found[name] / self.sizes.length for name in PER_TOKEN},
            **{f"{name}_of_explicit": found[name] / beside[name] for name in BESIDE},
            **{f"{name}_exponent": power for name, power in powers.items()},
            **{f"{k}_from_{power}": powers[k] - power for k in GROWING for power in POWERS},
            **self.errors(),
        }

    def counts(self, sizes: Sizes) -> dict[str, float]:
        """Return the counts of the work at some sizes."""
        return counts_of(self.work, sizes, self.seed)

    def halved(self) -> Sizes:
        """Return the sizes with half the length."""
        return self.sizes._replace(length=max(1, self.sizes.length // 2))

    @torch.no_grad()
    def errors(self) -> dict[str, float]:
        """Compare both ways to the result."""
        if self.work not in EQUAL or not self.draws:
            return {}
        lengths = torch.Generator().manual_seed(self.seed)
        found: dict[str, list[float]] = {name: [] for name in TYPES}
        moved = []
        for draw in range(self.draws):
            length = int(torch.randint(2, self.longest + 1, (1,), generator=lengths))
            sizes = self.sizes._replace(length=length)
            for name, dtype in TYPES.items():
                one, other = (
                    made(work, sizes, self.seed + draw, dtype)
                    for work in (self.work, EQUAL[self.work])
                )
                found[name].append(apart(one(), other()))
            last = other.inputs[-1].roll(1, -2)
            moved.append(apart(one(), other.do(*other.inputs[:-1], last)))
        return {f"error_{k}": max(v) for k, v in found.items()} | {"control": min(moved)}


def counts_of(work: str, sizes: Sizes, seed: int) -> dict[str, float]:
    """Return the counts of a work, made of shapes alone."""
    with without_values(True), torch.no_grad():
        done = made(work, sizes, seed)
        return counted(partial(done.do, *done.inputs))


def exponent(whole: float, half: float) -> float:
    """Return the power of the length that a cost grows with; 0 of what costs nothing."""
    return math.log2(whole / half) if half else 0.0


def apart(one: Tensor, other: Tensor) -> float:
    """Return the largest difference, relative to the largest number where that is above 1."""
    difference = (one.double() - other.double()).abs().max()
    return float(difference / other.double().abs().max().clamp(min=1))
