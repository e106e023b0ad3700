"""Compute the positive control of a claim that an arm loses nothing that matters.

The control is an arm that should lose more than the margin. If the control loses, the same runs
could have shown the loss that the claim denies.
"""

from ablate.config.labels import arm_label
from ablate.evidence.folder import Evidence
from ablate.evidence.types import Claim, ControlOutcome
from ablate.verdict.contrast import contrast


def control(claim: Claim, evidence: Evidence) -> ControlOutcome | None:
    """Return the positive control of a claim, as it is stored in verdict.json.

    The result is None if the claim names no control, or if the control has too few runs.
    """
    loses = claim.get("loses")
    if not loses:
        return None
    measure = claim["baseline"]
    paired = contrast({**claim, "treatment": measure | loses, "baseline": measure}, evidence)
    difference = paired.estimate
    if difference.pairs < 2:
        return None
    low, high = difference.interval(1 - claim["alpha"])
    return {
        "arm": arm_label(loses),
        "effect": difference.effect,
        "interval": [low, high],
        "loses": high < -claim["margin"],
    }
