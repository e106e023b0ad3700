"""Compute the step at which a validation curve first reaches a value, by linear interpolation.

A run that never reaches the value counts with all of its training steps, so that a mean over runs
is a lower bound.
"""

import math
from collections.abc import Sequence

from ablate.evidence.types import Run
from ablate.metric.table import STEPS_TO

NLL = "val/nll"
BEGINNING = f"{STEPS_TO}/nll_"
Number = int | float
Point = tuple[Number, Number]


def threshold(metric: str) -> float | None:
    """Return the nll in the name of a metric such as "steps_to/nll_1.0".

    The result is None for any other name.
    """
    if not metric.startswith(BEGINNING):
        return None
    try:
        nll = float(metric.removeprefix(BEGINNING))
    except ValueError:
        return None
    return nll if 0 < nll < math.inf else None


def steps_to(run: Run, nll: float) -> float:
    """Return the number of steps until a run's validation nll has fallen to `nll`.

    For a run that never reaches this value, the result is the number of all its steps.

    Raises:
        KeyError: the run has no validation, or diverged before it reached the value.
    """
    curve = run["curve"]
    steps = first_at(curve["step"], curve[NLL], nll)
    if math.isinf(steps) and run["status"] == "diverged":
        raise KeyError(NLL)
    return min(steps, float(curve["step"][-1] or 0))


def first_at(
    steps: Sequence[Number | None], values: Sequence[Number | None], target: Number
) -> float:
    """Return the step at which a falling curve first reaches a target; infinity if it never does.

    Args:
        steps: step of each point of the curve.
        values: value of each point; points with None are ignored.
        target: the value to reach.
    """
    before: Point | None = None
    for step, now in zip(steps, values, strict=True):
        if step is None or now is None:
            continue
        if now <= target:
            return float(step) if before is None else _between(before, (step, now), target)
        before = (step, now)
    return math.inf


def _between(before: Point, after: Point, target: Number) -> float:
    (first, high), (last, low) = before, after
    return first + (last - first) * (high - target) / (high - low)
