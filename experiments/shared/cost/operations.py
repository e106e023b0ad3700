"""Count the cost of a workload, its growth with length, and check equivalent implementations.

Equation: an exponent is the log2 of a ratio, the cost at a length divided by the cost at half of
    this length; products_from_2 is the exponent of products minus 2; share is the number of
    products of the workload divided by the number of products of a layer with this workload; error
    is the largest difference between two implementations, divided by the largest number of the
    result if this number is above 1.
Source: counting is defined in `counting`, the workloads in `works`.
What differs: costs are counted on shapes only, so any length is possible. Errors are measured on
    `draws` inputs of random lengths up to `longest`, in float64, float32 and bfloat16.
What to expect: exact numbers, the same on every machine; they ignore caches and launch overhead.
"""

import math
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode

from ablate.config.limits import Range
from ablate.errors import UserError
from experiments.shared.cost.counting import COUNTS, counted
from experiments.shared.cost.of_work import OfWork, made
from experiments.shared.cost.works import EQUAL, Sizes
from experiments.shared.probe.draws import Measured, reduced

TYPES = {"float64": torch.float64, "float32": torch.float32, "bfloat16": torch.bfloat16}
GROWING = ("products", "peak_bytes")
POWERS = (1, 2, 3)
PER_TOKEN = ("products", "calls", "peak_bytes")
BESIDE = ("products", "numbers", "peak_bytes")


@dataclass(kw_only=True)
class Operations(OfWork):
    """A probe that counts the operations of a workload and compares its result with that of an
    alternative implementation, if there is one.

    Args:
        draws: number of random inputs on which two implementations of the workload are compared.
        longest: maximum number of tokens in an input with which two implementations are compared.

    Raises:
        UserError: `draws` is below 0, `longest` below 2, `length` is odd, or a setting is one that
            OfWork rejects.
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

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.length % 2:
            raise UserError(
                f"probe.length is {self.length}: probe=operations compares the costs with those at "
                "half of this length, so it must be even"
            )

    def __call__(self, model: Any) -> dict[str, float]:
        """Return the costs of the workload (operations, memory, dependent steps), their growth with
        the length, and the difference between the workload and an alternative implementation.

        Differences are relative: see `apart`. Only a workload in EQUAL has an alternative
        implementation, and differences are measured on `draws` random inputs.

        Returns:
            products, numbers, peak_bytes, steps, calls: the costs that
                experiments.shared.cost.counting defines.
            share: the workload's products divided by the sum of its products and the products of
                the rest of a layer (the workload `rest`).
            COST_each: the cost divided by the number of tokens of a sentence.
            COST_of_explicit: the cost divided by the cost of explicit softmax attention, for inputs
                of equal sizes.
            COST_exponent: exponent with which the cost grows with the length.
            COST_from_N: this exponent minus N.
            error_TYPE: largest difference over all inputs between the results of the workload and
                of the alternative, in a number type such as float32.
            control: smallest difference over all inputs if the tokens in the last input of the
                alternative, such as the values of attention, are shifted by one token.
        """
        shorter = self.sizes._replace(length=self.sizes.length // 2)
        costs, half = (counts_of(self.work, sizes, self.seed) for sizes in (self.sizes, shorter))
        rest = counts_of("rest", self.sizes, self.seed)["products"]
        beside = counts_of("explicit", self.sizes, self.seed)
        powers = {name: exponent(costs[name], half[name]) for name in GROWING}
        return {
            **costs,
            "share": costs["products"] / (costs["products"] + rest),
            **{f"{name}_each": costs[name] / self.sizes.length for name in PER_TOKEN},
            **{f"{name}_of_explicit": costs[name] / beside[name] for name in BESIDE},
            **{f"{name}_exponent": power for name, power in powers.items()},
            **{f"{k}_from_{power}": powers[k] - power for k in GROWING for power in POWERS},
            **reduced([self.errors()], smallest={"control"}),
        }

    def errors(self) -> Measured:
        """Yield `error_TYPE` for each number type, and `control`; `__call__` describes both.

        There are none if EQUAL has no alternative to the workload, or if `draws` is 0.
        """
        lengths = torch.Generator().manual_seed(self.seed)
        for draw in range(self.draws if self.work in EQUAL else 0):
            length = int(torch.randint(2, self.longest + 1, (1,), generator=lengths))
            sizes = self.sizes._replace(length=length)
            for name, dtype in TYPES.items():
                first, other = (
                    made(work, sizes, self.seed + draw, dtype)
                    for work in (self.work, EQUAL[self.work])
                )
                yield f"error_{name}", apart(first(), other())
            last = other.inputs[-1].roll(1, -2)
            yield "control", apart(first(), other.do(*other.inputs[:-1], last))


def counts_of(work: str, sizes: Sizes, seed: int) -> dict[str, float]:
    """Return the costs of a workload, such as products and peak bytes, by name.

    The costs are counted on tensors that have shapes but no values.
    """
    with FakeTensorMode(), torch.no_grad():
        done = made(work, sizes, seed)
        return counted(partial(done.do, *done.inputs))


def exponent(whole: float, half: float) -> float:
    """Return the exponent with which a cost grows with the length; 0 for a cost of 0.

    Args:
        whole: the cost at a length.
        half: the cost at half of this length.
    """
    return math.log2(whole / half) if half else 0.0


def apart(first: Tensor, other: Tensor) -> float:
    """Return the largest absolute difference between two tensors, divided by the largest absolute
    value of `other` if this value is above 1.
    """
    difference = (first.double() - other.double()).abs().max()
    return float(difference / other.double().abs().max().clamp(min=1))
