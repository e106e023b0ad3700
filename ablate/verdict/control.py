"""The control of a claim that nothing is lost: an arm of the same runs that loses more than m.

Where such an arm stands beside it, the runs could have shown the loss that the claim denies.
"""

from dataclasses import dataclass

from ablate.config.labels import arm_label
from ablate.evidence.folder import Evidence
from ablate.evidence.types import Claim, Held
from ablate.verdict.contrast import contrast


@dataclass(frozen=True)
class Control:
    """What the control arm scores above the arm that the claim takes as its measure."""

    arm: str
    effect: float
    interval: tuple[float, float]
    loses: bool  # whether the whole interval lies below minus the margin

    def entry(self) -> Held:
        """As verdict.json has it."""
        return {
            "arm": self.arm,
            "effect": self.effect,
            "interval": [*self.interval],
            "loses": self.loses,
        }


def control(claim: Claim, evidence: Evidence) -> Control | None:
    """The control that a claim names, None where it names none or its runs are too few.

    It stands in the treatment's place.
    """
    named = claim.get("loses")
    if not named:
        return None
    measure = claim["baseline"]
    paired = contrast({**claim, "treatment": measure | named, "baseline": measure}, evidence)
    found = paired.estimate
    if found.pairs < 2:
        return None
    low, high = found.interval(1 - claim["alpha"])
    return Control(arm_label(named), found.effect, (low, high), high < -claim["margin"])
