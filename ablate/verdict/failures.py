"""Compare the rates of runs that failed to learn, besides the mean over runs that learned.

A run that diverged, collapsed, stayed at the floor of its metric or is stuck on a plateau has no
meaningful score. Its seed is left out of the mean. If the arms fail at clearly different rates, the
rates decide a claim about quality: the arm that fails less often is better. Both tests are
one-sided. If some run failed, the rates and the mean each have half of alpha (Bonferroni), and the
mean decides if the rates do not. If no distribution of the failed runs between the arms could be
significant, the mean has all of alpha (after Tarone 1990: a test that cannot reject costs nothing).

Source: Barnard 1945 for the test (ablate.stats.rates); Clopper & Pearson 1934 for the interval.
"""

from collections.abc import Sequence

from ablate.config.labels import arm_label
from ablate.evidence.types import Claim, Failures
from ablate.metric.table import METRICS
from ablate.stats.rates import Rates, share_interval
from ablate.stats.spending import Fractions
from ablate.verdict.floor import has_learned
from ablate.verdict.sides import Side

LEVEL = 0.9  # confidence level of the exact interval of a rate
NO_WEIGHT = 1e-9  # relative size below which a weight is a rounding error of 0
FEWEST = 2  # smallest number of learned pairs for a verdict on their mean


def failures(claim: Claim, arms: Sequence[Side]) -> dict[str, Failures]:
    """Return, for each arm of a claim, the number of runs that failed to learn.

    The result has an entry for the label of each arm: the failed runs, all ended runs, and the
    interval of the failure rate.
    """
    counted = {arm_label(side.levels): _count(side, claim["metric"]) for side in arms}
    return {
        arm: {"runs": failed, "of": ended, "interval": [*share_interval(failed, ended, LEVEL)]}
        for arm, (failed, ended) in counted.items()
    }


def rates_of_failure(claim: Claim, arms: Sequence[Side], looks: Fractions) -> Rates | None:
    """Return the two failure rates that can decide a claim about quality.

    The result is None for another kind of claim, if no run failed, or if an arm has no runs. The
    first rate is that of the arms whose failures support the claim: the baseline, or the treatment
    if the claim is that the treatment is worse. So the first rate is higher if failures support the
    claim. For an interaction or a trend, arms whose weights have the same sign are pooled. The test
    then errs less often, because pooled counts of unequal rates vary less than the binomial counts
    that it assumes (Hoeffding 1956). The middle level of a trend, whose weight is 0, is left out.
    `looks` has the interim analyses of the claim, for which the p-values are corrected.
    """
    metric = METRICS.get(claim["metric"].rpartition("/")[2])
    if metric is None or metric.wrong is None or _is_gap(claim):
        return None
    failed_runs, ended_runs = [0, 0], [0, 0]
    most = max((abs(side.weight) for side in arms), default=0.0)
    for side in (arm for arm in arms if abs(arm.weight) > NO_WEIGHT * most):
        failed, ended = _count(side, claim["metric"])
        place = int((side.weight > 0) == (metric.better == "higher"))
        failed_runs[place] += failed
        ended_runs[place] += ended
    rates = Rates(failed_runs[0], ended_runs[0], failed_runs[1], ended_runs[1], looks)
    return rates if rates.known and rates.first + rates.second else None


def _count(side: Side, metric: str) -> tuple[int, int]:
    """Return the number of runs that failed to learn, and the number of all runs that ended."""
    return sum(not has_learned(run, metric, side) for run in side.ended), len(side.ended)


def _is_gap(claim: Claim) -> bool:
    """Return whether the metric is a generalisation gap, which is meaningless without learning."""
    return claim["metric"].startswith("gap/")
