"""The common part of claims that nothing is lost: a margin, a positive control, equal arms to plan
for.

A positive control is an arm of the same runs that loses more than the margin. Without one, the runs
may simply be unable to show a loss.
"""

from ablate.evidence.types import Claim
from ablate.stats.holm import Tests
from ablate.verdict.decision import SUPPORTED, Decision, side
from ablate.verdict.kind.base import Kind


class Sameness(Kind):
    """The difference is at most the margin."""

    needs_margin = True
    controlled = True

    def decide(self, p: Tests, alpha: float) -> Decision:
        """Return refuted if a loss is shown, supported if it is excluded."""
        return Decision(side(p, alpha))

    def named(self, claim: Claim) -> dict[str, float]:
        """Return the planned effect: equal arms, or the claim's `plan_for`."""
        return {SUPPORTED: claim.get("plan_for") or 0.0}
