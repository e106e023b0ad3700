"""Compute the positive control of a claim that an arm loses nothing that matters.

The control is an arm that should lose more than the margin. If the control loses, the same runs
could have shown the loss that the claim denies.
"""

from dataclasses import dataclass

from ablate.config.labels import arm_label
from ablate.evidence.folder import Evidence
from ablate.evidence.types import Claim, ControlOutcome
from ablate.verdict.contrast import contrast


@dataclass(frozen=True)
class Control:
    """The difference between the control arm and the baseline of a claim, with its interval."""

    arm: str
    effect: float
    interval: tuple[float, float]
    loses: bool  # whether the whole interval is below minus the margin

    def entry(self) -> ControlOutcome:
        """Return the control as it is stored in verdict.json."""
        return {
            "arm": self.arm,
            "effect": self.effect,
            "interval": [*self.interval],
            "loses": self.loses,
        }


def control(claim: Claim, evidence: Evidence) -> Control | None:
    """Return the positive control of a claim.

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
    return Control(arm_label(loses), difference.effect, (low, high), high < -claim["margin"])
