"""Decide exact claims: a condition must hold in every case.

See ablate.verdict.exact for the rule.
"""

from collections.abc import Iterator
from typing import Any

from ablate.evidence.folder import Evidence
from ablate.evidence.types import Claim, reason
from ablate.stats.holm import Tests
from ablate.verdict.decision import REFUTED, SUPPORTED, MarginThreshold
from ablate.verdict.exact import examine, trained_value
from ablate.verdict.kind.base import Finding, Kind, arm_problems
from ablate.verdict.sides import sides


class ExactKind(Kind):
    """The kind of claim that a value, such as the result of a probe, is 0 in every case.

    The claim allows deviations from 0 up to its tolerance. A claim with a margin states instead
    that every value is at least as far from 0 as the margin.
    """

    rule = (
        "supported when the measured value is at most the allowed one in every case (or, if the "
        "claim has a margin, at least the margin), and refuted by a single case in which it is "
        "not. The values of trained models vary between seeds, so their mean is tested: the claim "
        "is supported when the whole 90 % interval (1 - 2 alpha) of the mean is on the claimed "
        "side of the limit, and refuted when it is on the other side"
    )
    whole = (SUPPORTED, REFUTED)
    signs = (-1, 1)

    def problems(self, claim: Claim, factors: list[str]) -> Iterator[str]:
        """Yield a problem unless the claim has two arms or none, and not both a tolerance and a
        margin.
        """
        if bool(claim["treatment"]) != bool(claim["baseline"]):
            yield (
                f"treatment={claim['treatment']} and baseline={claim['baseline']}; an exact claim "
                "needs both of them, or neither"
            )
        if claim["treatment"]:
            yield from arm_problems(claim)
        if claim["margin"] and claim["tolerance"]:
            yield (
                f"tolerance={claim['tolerance']} and margin={claim['margin']}; an exact claim has "
                "a tolerance, to be near 0, or a margin, to be away from it"
            )

    def find(self, claim: Claim, evidence: Evidence) -> Finding:
        """Return the result of an exact claim: the value of each case.

        If the claim is about trained models, whose values vary between seeds, the result also has
        the mean over seeds and its p-values.
        """
        arms = sides(claim, evidence)
        cases = examine(claim, arms, evidence)
        value = trained_value(claim, arms, cases, evidence)
        unmeasured = value is not None and not value.pairs
        problem = reason("no_trained_model") if unmeasured else None
        result = value or cases
        tests = result.tests(claim["margin"] or claim["tolerance"])
        return Finding(claim, result, arms, cases=cases, p=tests, problem=problem)

    def tests(self, estimate: Any, margin: float) -> Tests:
        """Return the p-values of a claim about trained models.

        The result is {} for other claims, which are not random.
        """
        tests: Tests = estimate.tests(margin)
        return tests

    def planned(self, estimate: Any) -> bool:
        """Return False, because an exact claim states no effect for which to plan seeds."""
        return False

    def turns(self, estimate: Any, alpha: float) -> list[MarginThreshold]:
        """Return the tolerances or margins at which the decision changes.

        Each entry has the decision from there on. The list is empty if no value was measured.
        """
        turns: list[MarginThreshold] = estimate.turns(alpha)
        return turns
