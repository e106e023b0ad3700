"""Runs that failed to learn: a rate beside a claim about a metric, which is about learned runs.

A run that diverged, collapsed, stayed at the floor of its metric or is stuck on a plateau has no
score to compare. So the
seed's pair is left out of the mean. Where the arms fail at clearly different rates, that decides a
claim about quality: the arm that fails less often is the better one. Both tests are one-sided.
Where some run failed, each of the two ways to a decision has half of alpha (Bonferroni), and the
mean is consulted where the rates do not decide. Where no split of the failed runs between the arms
could decide, the mean has all of alpha (after Tarone 1990: a test that cannot reject costs
nothing).
Source: Barnard 1945 for the test (ablate.stats.rates); Clopper & Pearson 1934 for the interval.
"""

from collections.abc import Sequence

from ablate.config.labels import arm_label
from ablate.evidence.types import Claim, Failures
from ablate.metric.table import METRICS
from ablate.stats.rates import Rates, share_interval
from ablate.verdict.floor import has_learned
from ablate.verdict.sides import Side

LEVEL = 0.9  # of the exact interval of a rate: 5 % beyond each end
FEWEST = 2  # pairs that must have learned for a verdict on their mean: fewer have no spread


def failures(claim: Claim, arms: Sequence[Side]) -> dict[str, Failures]:
    """Return how many runs of every arm failed to learn, by the arm's label."""
    counted = {arm_label(side.levels): _count(side, claim["metric"]) for side in arms}
    return {
        arm: {"runs": failed, "of": ended, "interval": [*share_interval(failed, ended, LEVEL)]}
        for arm, (failed, ended) in counted.items()
    }


def rates_of_failure(claim: Claim, arms: Sequence[Side]) -> Rates | None:
    """Return the rates that a claim about quality may be decided by, None for other claims.

    The rate of the arms that the treatment is compared with comes first, so that the difference is
    positive where the treatment fails less often. Of an interaction or a trend, the arms of either
    sign are pooled: counts of unequal rates vary less than the binomial counts of the test
    (Hoeffding 1956).
    """
    known = METRICS.get(claim["metric"].rpartition("/")[2])
    if known is None or known.wrong is None or _is_gap(claim):
        return None
    failed_runs, ended_runs = [0, 0], [0, 0]
    for side in arms:
        failed, ended = _count(side, claim["metric"])
        place = int((side.weight > 0) == (claim["better"] == "higher"))
        failed_runs[place] += failed
        ended_runs[place] += ended
    rates = Rates(failed_runs[0], ended_runs[0], failed_runs[1], ended_runs[1])
    return rates if rates.known and rates.first + rates.second else None


def _count(side: Side, metric: str) -> tuple[int, int]:
    """Return the number of runs that failed to learn, and of all that ended."""
    return sum(not has_learned(run, metric, side) for run in side.ended), len(side.ended)


def _is_gap(claim: Claim) -> bool:
    """Return whether the metric is a gap: a model that has learned nothing has none to speak of."""
    return claim["metric"].startswith("gap/")
