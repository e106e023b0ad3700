"""Learning-rate schedules."""

import math
from abc import ABC, abstractmethod
from typing import Annotated

from ablate.config.limits import Range
from ablate.errors import UserError


class Schedule(ABC):
    """Maps the number of an optimiser step (1, 2, ...) to a fraction of the peak learning rate."""

    @abstractmethod
    def __call__(self, step: int) -> float:
        """Return the learning rate at `step` as a fraction of the peak learning rate, 0 to 1."""


class Constant(Schedule):
    """A constant learning rate: the peak learning rate from the first step to the last.

    A constant schedule, whose factor is 1 at every step.

    Equation: factor(s) = 1.
    Source: none; it is a control for the schedule of arXiv:1706.03762, section 5.3.
    What differs: no warm-up and no decay.
    What to expect: noisier final weights than with a decay from the same peak learning rate.
    """

    def __call__(self, step: int) -> float:
        """Return 1."""
        return 1.0


class InverseSqrt(Schedule):
    """Inverse square root decay, with a linear warm-up ("Noam") or without.

    A linear warm-up, a constant phase until `decay_from`, then a decay as 1 / sqrt(step).

    Equation: factor(s) = min(s / warmup, sqrt(decay_from / s), 1); without warm-up the first term
        is 1.
    Source: arXiv:1706.03762, section 5.3, equation 3.
    What differs: the peak is set explicitly by `optimizer.lr`, whereas the paper derives it from
        d_model and the warm-up. So a run without warm-up has the same peak and decay.
    What to expect: Post-LN stacks need the warm-up (arXiv:2002.04745), Pre-LN stacks do not.

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


class Cosine(Schedule):
    """A decay along half a cosine period, after a linear warm-up.

    A linear warm-up, then a decay along half a cosine period over the remaining steps.

    Equation: factor(s) = s / warmup up to warmup, then final + (1 - final) (1 + cos(pi t)) / 2 with
        t = (s - warmup) / (steps - warmup).
    Source: arXiv:1608.03983, section 3, equation 5, with one period and no restarts.
    What differs: a warm-up comes before the decay. With final = 0, the factor of the last step is
        0, so this step trains nothing, and steps - 1 steps train.
    What to expect: close to inverse square root decay with the same peak learning rate; most of the
        advantage comes from the last steps.

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


class WarmupStableDecay(Schedule):
    """Warm-up, a stable phase at the peak learning rate, and a linear decay (WSD).

    A linear warm-up, a phase at the peak, and a linear decay to zero at the last step.

    Equation: factor(s) = s / warmup up to warmup, then 1, and (steps - s) / (decay * steps) in the
        last phase, whose length is the fraction `decay` of all steps.
    Source: arXiv:2404.06395, section 4.2 (MiniCPM), where the decay is exponential.
        arXiv:2405.18392, section 3, finds a linear decay over a fifth of the steps best.
    What differs: the decay is linear. The factor of the last step is 0, so this step trains
        nothing, and steps - 1 steps train.
    What to expect: as good as cosine decay at the last step. Runs of different length are the same
        before the decay, so their first steps need to be trained only once.

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
