"""Compute the steps that the baseline needs to reach the treatment's short-budget nll.

For each seed, this is the step at which the validation nll of the baseline's long run has fallen to
the nll of the treatment at the short budget, interpolated between two validations. A run that never
reaches this nll is censored: it needs more than the long budget. The result is the median over the
seeds, with the interval that inverts the sign test. The ends of this interval are two order
statistics, so that censored seeds are allowed.

Source: Conover 1999, Practical Nonparametric Statistics, section 3.2 (interval of a quantile).
What differs: nothing.
What to expect: at least the nominal coverage for any distribution. Fewer than 6 seeds have no .95
    interval. A target that is reached before the first validation counts as reached there.
"""

import math
import statistics
from collections.abc import Sequence

from scipy import stats

from ablate.evidence.folder import Evidence
from ablate.evidence.outcome import value
from ablate.evidence.threshold import first_at
from ablate.evidence.types import Entry, Run, Target
from ablate.verdict.sides import sides

Number = int | float
Point = tuple[Number, Number]
NLL = "val/nll"
WITHOUT = ("exact", "stability", "trend")  # kinds that do not compare the losses of two models


def time_to_target(entry: Entry, long: Evidence, short: Evidence) -> Target | None:
    """Return the steps that the baseline needs to reach the treatment's nll, as in verdict.json.

    In place of a number of steps, None means more steps than the long budget. The whole result is
    None if the claim does not compare two arms, if both arms have the same training runs, or if no
    run was validated.

    Args:
        entry: the claim.
        long: the evidence at the long budget.
        short: the evidence after the short number of training steps.
    """
    if entry["kind"] in WITHOUT or entry["minus"] or not entry["baseline"]:
        return None
    if _curves(entry, long, 0) == _curves(entry, long, 1):
        return None
    treatment, baseline = sides(entry, short)[0], sides(entry, long)[1]
    needed = {
        seed: statistics.median(steps)
        for seed in sorted(treatment.runs.keys() & baseline.runs.keys())
        if (steps := _needed(treatment.runs[seed], baseline.runs[seed]))
    }
    if not needed:
        return None
    updates = [*needed.values()]
    ends = _interval(updates, entry["alpha"])
    return {
        "metric": NLL,
        "updates": _reached(statistics.median(updates)),
        "interval": ends and [_reached(end) for end in ends],
        "seeds": [*needed],
        "of_seeds": [_reached(update) for update in updates],
    }


def _curves(entry: Entry, evidence: Evidence, side: int) -> list[object]:
    """Return the validation curves of an arm's runs; `side` is 0 for the treatment, else 1."""
    return [run["curve"] for run in sides(entry, evidence)[side].every]


def _needed(early: list[Run], late: list[Run]) -> list[float]:
    """Return, for each pair of runs, the steps that the baseline needs to reach the target.

    The target is the validation nll of the treatment at the short budget.

    The number is infinite if the baseline never reaches the target.

    Args:
        early: runs of the treatment, with their outcomes after the short number of training steps.
        late: runs of the baseline at the long budget.
    """
    steps = []
    for early_run, late_run in zip(early, late, strict=False):
        curve = late_run["curve"]
        try:
            target = value(early_run, NLL)
        except KeyError:
            continue
        if NLL in curve and late_run["status"] != "failed":
            steps.append(first_at(curve["step"], curve[NLL], target))
    return steps


def _interval(updates: Sequence[Number], alpha: float) -> Point | None:
    """Return the confidence interval of the median number of training steps.

    `updates` has the number for each seed. The ends of the interval are two of these numbers. The
    result is None if the seeds are too few.
    """
    ordered, n = sorted(updates), len(updates)
    rank = int(stats.binom.ppf(alpha / 2, n, 0.5))
    return (ordered[rank - 1], ordered[n - rank]) if rank else None


def _reached(updates: float) -> float | None:
    return updates if math.isfinite(updates) else None
