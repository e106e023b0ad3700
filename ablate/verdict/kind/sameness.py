"""Define the base class of two kinds of claims: equivalence and non-inferiority.

Both need a margin and may name a positive control. The number of seeds is planned for a true
difference of 0, unless the claim names another difference in `plan_for`. A positive control is an
arm of the same sweep that loses more than the margin. Without a control, it is not shown that the
runs could detect a loss.
"""

from ablate.evidence.types import Claim
from ablate.verdict.decision import SUPPORTED
from ablate.verdict.kind.base import Kind


class Sameness(Kind):
    """The kind of claim that one arm differs from another by less than the margin, in both
    directions (equivalence) or only for the worse (non-inferiority).
    """

    needs_margin = True
    controlled = True

    def named(self, claim: Claim) -> dict[str, float]:
        """Return the true difference for which seeds are planned, for the decision "supported".

        The difference is the claim's `plan_for`, or 0 if the claim has none.
        """
        return {SUPPORTED: claim.get("plan_for") or 0.0}
