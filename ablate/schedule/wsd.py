"""Warm-up, a stable phase at the peak learning rate, and a linear decay (WSD).

Equation: factor(s) = s / warmup up to warmup, then 1, and (steps - s) / (decay * steps) in the last
    phase, whose length is the fraction `decay` of all steps.
Source: arXiv:2404.06395, section 4.2 (MiniCPM), where the decay is exponential. arXiv:2405.18392,
    section 3, finds a linear decay over a fifth of the steps best.
What differs: the decay is linear.
    The factor of the last step is 0, so this step trains nothing, and steps - 1 steps train.
What to expect: as good as cosine decay at the last step. Runs of different length are the same
    before the decay, so their first steps need to be trained only once.
"""

from typing import Annotated

from ablate.config.limits import Range
from ablate.errors import UserError
from ablate.schedule.base import Schedule


class WarmupStableDecay(Schedule):
    """A linear warm-up, a phase at the peak, and a linear decay to zero at the last step.

    Args:
        warmup: number of steps in which the learning rate rises linearly to its peak.
        steps: number of steps of the whole training.
        decay: fraction of all steps, at the end, in which the learning rate falls to 0.

    Raises:
        UserError: the decay would begin before the warm-up has ended.
    """

    def __init__(
        self, *, warmup: int, steps: int, decay: Annotated[float, Range(0, 1, above=True)]
    ) -> None:
        self.warmup, self.steps = warmup, steps
        self.falling = decay * steps
        if not 0 <= warmup <= steps - self.falling:
            raise UserError(
                f"schedule.warmup={warmup} with schedule.steps={steps} and schedule.decay={decay}: "
                f"allowed is 0 <= warmup <= {steps - self.falling:g}, where the decay begins (see "
                "budget.warmup and budget.steps)"
            )

    def __call__(self, step: int) -> float:
        """Return the learning rate at `step` as a fraction of the peak; 0 after the last step."""
        ramp = step / self.warmup if self.warmup else 1.0
        return float(max(0.0, min(ramp, 1.0, (self.steps - step) / self.falling)))
