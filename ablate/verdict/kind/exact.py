"""A predicate that must hold in every case; ablate.verdict.exact has its rule."""

from typing import Any

from ablate.errors import UserError
from ablate.evidence.folder import Evidence
from ablate.evidence.types import Claim
from ablate.stats.holm import Tests
from ablate.verdict.decision import REFUTED, SUPPORTED, Decision, Turn
from ablate.verdict.exact import examine
from ablate.verdict.kind.base import Finding, Kind, check_arms


class ExactKind(Kind):
    """Every case lies within the tolerance, or with a margin outside of that."""

    rule = (
        "supported when every case is within the tolerance (below it is enough where lower is "
        "better; where the claim has a margin: at least that far from 0), refuted by a single "
        "other one"
    )

    def check(self, name: str, claim: Claim, factors: list[str]) -> None:
        """Two arms or none; a tolerance or a margin."""
        if bool(claim["treatment"]) != bool(claim["baseline"]):
            raise UserError(
                f"{name}: an exact claim has both a treatment and a baseline, or neither"
            )
        if claim["treatment"]:
            check_arms(name, claim)
        if claim["margin"] and claim["tolerance"]:
            raise UserError(
                f"{name}: tolerance={claim['tolerance']} and margin={claim['margin']}; an exact "
                "claim has a tolerance, to be near 0, or a margin, to be away from it"
            )

    def find(self, claim: Claim, evidence: Evidence) -> Finding:
        """Look at every case."""
        found = examine(claim, evidence)
        return Finding(claim, found, found.runs)

    def tests(self, found: Any, margin: float) -> Tests:
        """None: nothing is left to chance."""
        return {}

    def decide(self, p: Tests, alpha: float) -> Decision:
        """Never asked, as there are no tests."""
        raise NotImplementedError

    def named(self, claim: Claim) -> dict[str, float]:
        """Nothing."""
        return {}

    def power(
        self, side: str, found: Any, margin: float, effect: float, pairs: int, alpha: float
    ) -> float:
        """Never asked either."""
        raise NotImplementedError

    def turns(self, found: Any, alpha: float) -> list[Turn]:
        """At the worst case: by the tolerance, or by the margin where the claim has one."""
        if found.worst is None:
            return []
        near, far = Turn(0.0, Decision(REFUTED)), Turn(found.worst, Decision(SUPPORTED))
        if found.margin:
            near, far = Turn(0.0, far.decision), Turn(found.worst, near.decision)
        return [near, far] if found.worst > 0 else [Turn(0.0, far.decision)]

    def bounds(self, margin: float) -> tuple[float, ...]:
        """Both sides."""
        return (-margin, margin)
