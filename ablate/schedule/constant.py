"""The peak rate from the first step to the last.

Equation: factor(s) = 1.
Source: none; the control for the schedules of arXiv:1706.03762, section 5.3.
What differs: no warm-up and no decay.
What to expect: noisier final weights than with a decay, at the same peak rate.
"""

from ablate.schedule.base import Schedule


class Constant(Schedule):
    """A factor of one."""

    def __call__(self, step: int) -> float:
        """Return 1."""
        return 1.0
