"""Warm-up, stable, decay.

Equation: factor(s) = s / warmup up to warmup, then 1, and in the last `decay` of all steps (steps -
    s) / (decay * steps).
Source: arXiv:2404.06395, section 4.2 (MiniCPM), where the decay is exponential; linear, and best
    over a fifth of the steps: arXiv:2405.18392, section 3.
What differs: the decay is linear.
What to expect: as good as a cosine at the last step; the steps before the decay are shared with
    longer runs, so one run can serve several budgets.
"""

from typing import Annotated

from ablate.config.limits import Range
from ablate.errors import UserError
from ablate.schedule.base import Schedule


class WarmupStableDecay(Schedule):
    """Linear warm-up, the peak, and a linear decay to zero at the last step.

    Args:
        warmup: steps to the peak.
        steps: steps of the run.
        decay: fraction of the steps in which the learning rate falls.

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
        """Return the factor of `step`; 0 past the last step."""
        ramp = step / self.warmup if self.warmup else 1.0
        return float(max(0.0, min(ramp, 1.0, (self.steps - step) / self.falling)))
