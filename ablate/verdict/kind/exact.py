"""A predicate that must hold in every case; ablate.verdict.exact has its rule."""

from typing import Any

from ablate.errors import UserError
from ablate.evidence.folder import Evidence
from ablate.evidence.types import Claim
from ablate.stats.holm import Tests
from ablate.verdict.decision import REFUTED, SUPPORTED, Decision, Turn, side
from ablate.verdict.exact import examine
from ablate.verdict.kind.base import Finding, Kind, check_arms, distinct
from ablate.verdict.trained import TrainedValue, trained_value


class ExactKind(Kind):
    """Every case lies within the tolerance, or with a margin outside of that."""

    rule = (
        "supported when every case lies within the tolerance (or, if the claim has a margin, at "
        "least that far from 0), refuted by one case that does not. Values of trained models vary "
        "between seeds, so their mean decides: supported when its 90 % interval (1 - 2 alpha) lies "
        "on that side, refuted when it lies on the other side"
    )
    whole = (SUPPORTED, REFUTED)

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
        """Look at every case; estimate what varies between trained models."""
        cases = examine(claim, evidence)
        value = trained_value(claim, cases, evidence)
        if value is None:
            return Finding(claim, cases, cases.runs)
        tests = value.tests(claim["margin"] or claim["tolerance"])
        problem = "" if value.pairs else "no trained model was measured"
        return Finding(claim, value, cases.runs, cases=cases, p=tests, problem=problem)

    def tests(self, found: Any, margin: float) -> Tests:
        """None where no model was trained: nothing is left to chance."""
        return found.tests(margin) if isinstance(found, TrainedValue) else {}

    def decide(self, p: Tests, alpha: float) -> Decision:
        """Of trained models, the decision whose test rejects."""
        return Decision(side(p, alpha))

    def planned(self, found: Any) -> bool:
        """No effect is named, so that no seeds can be planned."""
        return False

    def named(self, claim: Claim) -> dict[str, float]:
        """Nothing."""
        return {}

    def power(
        self, side: str, found: Any, margin: float, effect: float, pairs: int, alpha: float
    ) -> float:
        """Never asked either."""
        raise NotImplementedError

    def turns(self, found: Any, alpha: float) -> list[Turn]:
        """At the worst case, or the interval of trained models; by tolerance, or by margin."""
        if isinstance(found, TrainedValue):
            return distinct(found.turns(alpha))
        if found.worst is None:
            return []
        near, far = Turn(0.0, Decision(REFUTED)), Turn(found.worst, Decision(SUPPORTED))
        if found.margin:
            near, far = Turn(0.0, far.decision), Turn(found.worst, near.decision)
        return [near, far] if found.worst > 0 else [Turn(0.0, far.decision)]

    def bounds(self, margin: float) -> tuple[float, ...]:
        """Both sides."""
        return (-margin, margin)
