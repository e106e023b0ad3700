"""Time to target: the updates that the baseline needs to reach the treatment's short-budget nll.

Per seed: the update at which the validation nll of the baseline's long run has fallen to that of
the treatment at the short budget, interpolated between two validations. A run that never gets there
is censored: it takes more than the long budget. Of the seeds, the median is told, with the interval
that inverts the sign test: two order statistics, which a censored seed does not spoil.
Source: Conover 1999, Practical Nonparametric Statistics, section 3.2 (interval of a quantile).
What differs: nothing.
What to expect: at least its level for any distribution; fewer than 6 seeds have no .95 interval. A
target that is met before the first validation counts as met there.
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
WITHOUT = ("exact", "stability", "trend")  # kinds that set no model's loss against another's


def time_to_target(entry: Entry, long: Evidence, short: Evidence) -> Target | None:
    """As verdict.json has it, `null` standing for more updates than the long budget has.

    None where a claim does not compare two arms, where both test one training, or where no run was
    validated.
    """
    if entry["kind"] in WITHOUT or entry["minus"] or not entry["baseline"]:
        return None
    if _curves(entry, long, 0) == _curves(entry, long, 1):
        return None
    treatment, baseline = sides(entry, short)[0], sides(entry, long)[1]
    needed = {
        seed: statistics.median(found)
        for seed in sorted(treatment.runs.keys() & baseline.runs.keys())
        if (found := _needed(treatment.runs[seed], baseline.runs[seed]))
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
        "of_seeds": [_reached(one) for one in updates],
    }


def _curves(entry: Entry, evidence: Evidence, side: int) -> list[object]:
    """Every validation of the runs of one side."""
    return [run["curve"] for run in sides(entry, evidence)[side].every]


def _needed(early: list[Run], late: list[Run]) -> list[float]:
    """Updates by pair of runs; infinite where the later one never gets there."""
    found = []
    for one, other in zip(early, late, strict=False):
        curve = other["curve"]
        try:
            target = value(one, NLL)
        except KeyError:
            continue
        if NLL in curve and other["status"] != "failed":
            found.append(first_at(curve["step"], curve[NLL], target))
    return found


def _interval(updates: Sequence[Number], alpha: float) -> Point | None:
    """Order statistics around the median; None where the seeds are too few."""
    ordered, n = sorted(updates), len(updates)
    rank = int(stats.binom.ppf(alpha / 2, n, 0.5))
    return (ordered[rank - 1], ordered[n - rank]) if rank else None


def _reached(updates: float) -> float | None:
    return updates if math.isfinite(updates) else None
