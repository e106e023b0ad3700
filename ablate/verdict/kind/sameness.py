"""What claims that nothing is lost have in common: a margin, a control, and equal arms to plan for.

A control is an arm of the same runs that loses more than the margin: without one, no loss may
only mean that these runs could not have shown any.
"""

from ablate.evidence.types import Claim
from ablate.stats.holm import Tests
from ablate.verdict.decision import SUPPORTED, Decision, side
from ablate.verdict.kind.base import Kind


class Sameness(Kind):
    """The difference is no more than the margin."""

    needs_margin = True
    controlled = True

    def decide(self, p: Tests, alpha: float) -> Decision:
        """Refuted where the loss is shown, supported where it is excluded."""
        return Decision(side(p, alpha))

    def named(self, claim: Claim) -> dict[str, float]:
        """Arms that are truly equal, or differ by what the claim plans for."""
        return {SUPPORTED: claim.get("plan_for") or 0.0}
