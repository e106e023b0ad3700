"""Define what equivalence and non-inferiority share.

Both need a margin and may name a positive control. Seeds are planned for equal arms. A positive
control is an arm of the same runs that loses more than the margin. Without a control, the runs may
simply be unable to show a loss.
"""

from ablate.evidence.types import Claim
from ablate.stats.holm import Tests
from ablate.verdict.decision import SUPPORTED, Decision, side
from ablate.verdict.kind.base import Kind


class Sameness(Kind):
    """The kind of claim that one arm differs from another by less than the margin, in both
    directions (equivalence) or only for the worse (non-inferiority).
    """

    needs_margin = True
    controlled = True

    def decide(self, p: Tests, alpha: float) -> Decision:
        """Return refuted if a difference beyond the margin is shown, supported if it is
        excluded.
        """
        return Decision(side(p, alpha))

    def named(self, claim: Claim) -> dict[str, float]:
        """Return the true effect for which seeds are planned: 0, or the claim's `plan_for`."""
        return {SUPPORTED: claim.get("plan_for") or 0.0}
