"""Trend: the metric rises over the ordered levels of a factor; superiority of a slope."""

from ablate.errors import UserError
from ablate.evidence.types import Claim
from ablate.verdict.kind.superiority import Superiority


class Trend(Superiority):
    """The slope is above 0."""

    rule = "the rule of superiority, for the slope"

    def check(self, name: str, claim: Claim, factors: list[str]) -> None:
        """Raise UserError unless the trend is over a factor of the study."""
        if claim["over"] not in factors:
            raise UserError(
                f"{name}: over={claim['over'] or 'nothing'}; a trend runs over a factor of the "
                f"study: {', '.join(factors)}"
            )
