"""Inverse square root decay, with a linear warm-up ("Noam") or without.

Equation: factor(s) = min(s / warmup, sqrt(decay_from / s), 1); without warm-up the first term is 1.
Source: arXiv:1706.03762, section 5.3, equation 3.
What differs: the peak is set explicitly by `optimizer.lr`, whereas the paper derives it from
    d_model and the warm-up. So a run without warm-up has the same peak and decay.
What to expect: Post-LN stacks need the warm-up (arXiv:2002.04745), Pre-LN stacks do not.
"""

from ablate.errors import UserError
from ablate.schedule.base import Schedule


class InverseSqrt(Schedule):
    """A linear warm-up, a constant phase until `decay_from`, then a decay as 1 / sqrt(step).

    Raises:
        UserError: 0 <= `warmup` <= `decay_from` does not hold, or `decay_from` is below 1.
    """

    def __init__(self, *, warmup: int, decay_from: int) -> None:
        if warmup < 0 or decay_from < 1 or warmup > decay_from:
            raise UserError(
                f"schedule.warmup={warmup} with schedule.decay_from={decay_from}: "
                "allowed is 0 <= warmup <= decay_from and decay_from >= 1 (see budget.warmup)"
            )
        self.warmup = warmup
        self.decay_from = decay_from

    def __call__(self, step: int) -> float:
        """Return the learning rate at `step` as a fraction of the peak."""
        ramp = step / self.warmup if self.warmup else 1.0
        return float(min(ramp, (self.decay_from / step) ** 0.5, 1.0))
