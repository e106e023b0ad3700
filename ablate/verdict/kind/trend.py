"""Decide claims of a trend: the metric gets better as the levels (values) of a factor grow.

The rule is that of superiority, applied to the slope of the metric over the levels.
"""

from ablate.errors import UserError
from ablate.evidence.types import Claim
from ablate.verdict.kind.superiority import Superiority


class Trend(Superiority):
    """The kind of claim that the metric gets better as the levels (values) of a factor grow: its
    slope in the better direction is above 0.
    """

    rule = "judged like superiority claims, with the slope in place of the difference between arms"

    def check(self, name: str, claim: Claim, factors: list[str]) -> None:
        """Raise UserError unless the claim's key `over` names a factor of the study."""
        if claim["over"] not in factors:
            raise UserError(
                f"{name}: over={claim['over'] or 'nothing'}; a trend runs over a factor of the "
                f"study: {', '.join(factors)}"
            )
