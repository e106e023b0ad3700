"""A decay along half a cosine period, after a linear warm-up.

Equation: factor(s) = s / warmup up to warmup, then final + (1 - final) (1 + cos(pi t)) / 2 with
    t = (s - warmup) / (steps - warmup).
Source: arXiv:1608.03983, section 3, equation 5, with one period and no restarts.
What differs: a warm-up comes before the decay. With final = 0, the factor of the last step is 0, so
    this step trains nothing, and steps - 1 steps train.
What to expect: close to inverse square root decay with the same peak learning rate; most of the
    advantage comes from the last steps.
"""

import math
from typing import Annotated

from ablate.config.limits import Range
from ablate.errors import UserError
from ablate.schedule.base import Schedule


class Cosine(Schedule):
    """A linear warm-up, then a decay along half a cosine period over the remaining steps.

    Args:
        warmup: number of steps in which the learning rate rises linearly to its peak.
        steps: number of steps of the whole training.
        final: learning rate at the end, as a fraction of the peak.

    Raises:
        UserError: `warmup` is negative or not below `steps`.
    """

    def __init__(
        self, *, warmup: int, steps: int, final: Annotated[float, Range(0, 1)] = 0.0
    ) -> None:
        if not 0 <= warmup < steps:
            raise UserError(
                f"schedule.warmup={warmup} with schedule.steps={steps}: "
                "allowed is 0 <= warmup < steps (see budget.warmup and budget.steps)"
            )
        self.warmup = warmup
        self.steps = steps
        self.final = final

    def __call__(self, step: int) -> float:
        """Return the learning rate at `step` as a fraction of the peak.

        After the last step, the fraction is `final`.
        """
        if step < self.warmup:
            return step / self.warmup
        done = min(1.0, (step - self.warmup) / (self.steps - self.warmup))
        return self.final + (1.0 - self.final) * 0.5 * (1.0 + math.cos(math.pi * done))
