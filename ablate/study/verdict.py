"""The rules by which a claim becomes supported, refuted or inconclusive (kinds other than exact).

Written in the study before the runs, m being its margin:
- superiority, stability and trend: supported when the two-sided 1 - alpha interval lies above 0 and
  the effect is at least m; refuted when that interval lies below m;
- equivalence: supported when the 1 - 2 alpha interval lies inside +-m (two one-sided tests,
  Schuirmann 1987); refuted when the 1 - alpha interval lies outside.
Each condition is a one-sided test at alpha or, for one end of a two-sided interval, alpha / 2; so
the rules are applied to p-values, which Holm's correction can adjust.
"""

from typing import Any

from ablate.study.estimate import Estimate
from ablate.study.holm import Tests
from ablate.study.rates import Rates

SUPPORTED, REFUTED, INCONCLUSIVE = "supported", "refuted", "inconclusive"
EQUIVALENCE = "equivalence"
Claim = dict[str, Any]
Tested = Estimate | Rates


def one_sided(claim: Claim, found: Tested) -> Tests:
    """The one-sided p-values behind "supported" and "refuted"."""
    margin = float(claim["margin"])
    if claim["kind"] == EQUIVALENCE:
        return {
            SUPPORTED: max(found.p_at_most(-margin), found.p_at_least(margin)),
            REFUTED: min(found.p_at_most(margin), found.p_at_least(-margin)),
        }
    return {SUPPORTED: found.p_at_most(0.0), REFUTED: found.p_at_least(margin)}


def on_scale_of_alpha(claim: Claim, p: Tests) -> Tests:
    """p-values to be compared with alpha: twice that of one end of a two-sided interval."""
    twice = {side: min(1.0, 2 * value) for side, value in p.items()}
    return twice | {SUPPORTED: p[SUPPORTED]} if claim["kind"] == EQUIVALENCE else twice


def decide(claim: Claim, effect: float, p: Tests, alpha: float) -> str:
    """Apply the rule of a claim to p-values on the scale of alpha, adjusted or not."""
    if p[REFUTED] <= alpha:
        return REFUTED
    large = claim["kind"] == EQUIVALENCE or effect >= claim["margin"]
    return SUPPORTED if p[SUPPORTED] <= alpha and large else INCONCLUSIVE
