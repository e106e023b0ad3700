"""Name the reason why the test of a claim may give more false verdicts than alpha allows.

The reason is a property of the claim's paired differences, such as few seeds or visible skewness.
The rate of false verdicts was measured in simulations with this number of seeds; it is the largest
rate over all simulated shapes of noise (ablate.stats.false_rates).
"""

from typing import NamedTuple

from ablate.stats.estimate import Estimate
from ablate.stats.false_rates import (
    CLUSTERED,
    ENOUGH,
    FEW,
    HIDDEN,
    SKEWED,
    false_rate,
    in_clusters,
)
from ablate.stats.skew import is_visible
from ablate.verdict.decision import SUPPORTED
from ablate.verdict.kind import kind_of
from ablate.verdict.kind.base import Finding


class SeenNoise(NamedTuple):
    """The noise that is visible in a claim's paired differences, and the rate of false verdicts.

    `reason` says why false verdicts may be more frequent than the nominal level promises, such as
    "visible skewness". `rate` is the rate of false verdicts in simulations. `nominal` is the rate
    that the level promises. `seeds` is the number of pairs.
    """

    reason: str
    seeds: int
    rate: float
    nominal: float


def seen_noise(finding: Finding) -> SeenNoise | None:
    """Return the reason why a claim may be decided wrongly, and the rate of false verdicts.

    The result is None if the claim was not decided by a mean of paired differences.
    """
    effect, paired = finding.result, finding.paired
    if finding.problem or finding.rates or paired is None or not isinstance(effect, Estimate):
        return None
    if effect.skewness is None or not effect.error > 0:
        return None
    reason = _reason(effect.skewness, effect.pairs, clustered=in_clusters(paired.differences))
    equivalence = SUPPORTED in kind_of(finding.claim).whole
    nominal = finding.claim["alpha"] / (1 if equivalence else 2)
    rate = false_rate(effect.pairs, equivalence=equivalence)
    return SeenNoise(reason, effect.pairs, rate, nominal)


def _reason(skewness: float, seeds: int, *, clustered: bool) -> str:
    if is_visible(skewness, seeds):
        return SKEWED
    if clustered:
        return CLUSTERED
    return FEW if seeds < ENOUGH else HIDDEN
