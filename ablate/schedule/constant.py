"""A constant learning rate: the peak learning rate from the first step to the last.

Equation: factor(s) = 1.
Source: none; it is a control for the schedule of arXiv:1706.03762, section 5.3.
What differs: no warm-up and no decay.
What to expect: noisier final weights than with a decay from the same peak learning rate.
"""

from ablate.schedule.base import Schedule


class Constant(Schedule):
    """A constant schedule, whose factor is 1 at every step."""

    def __call__(self, step: int) -> float:
        """Return 1."""
        return 1.0
