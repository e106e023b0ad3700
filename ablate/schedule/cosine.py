"""Half a cosine from the peak to zero, after a linear warm-up.

Equation: factor(s) = s / warmup up to warmup, then (1 + cos(pi t)) / 2 with
    t = (s - warmup) / (steps - warmup).
Source: arXiv:1608.03983, section 3, equation 5, one period, no restarts.
What differs: a warm-up comes before it.
What to expect: close to inverse square root at equal peaks; the last steps bring most of the gain.
"""

import math

from ablate.errors import UserError
from ablate.schedule.base import Schedule


class Cosine(Schedule):
    """Warm-up, then half a cosine over the remaining steps."""

    def __init__(self, *, warmup: int, steps: int) -> None:
        if not 0 <= warmup < steps:
            raise UserError(
                f"schedule.warmup={warmup} with schedule.steps={steps}: "
                "allowed is 0 <= warmup < steps (see budget.warmup and budget.steps)"
            )
        self.warmup = warmup
        self.steps = steps

    def __call__(self, step: int) -> float:
        """Return the factor of `step`; 0 past the last step."""
        if step < self.warmup:
            return step / self.warmup
        done = min(1.0, (step - self.warmup) / (self.steps - self.warmup))
        return 0.5 * (1.0 + math.cos(math.pi * done))
