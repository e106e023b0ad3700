"""The kinds of claims, by name; the class of a kind has its checks, its rule and its power.

Superiority (an arm is better) tests the effect against 0 and then against the margin. With the
two-sided 1 - alpha interval [l, u] and margin m: l >= m is supported, *large enough to matter*;
0 < l < m <= u is supported, *direction only*; u < 0 is refuted, *the other way round*; u < m is
refuted, *too small to matter*; anything else is undecided. The second test needs no part of alpha,
since it can only reject if the first test does (fixed sequence: Maurer, Hothorn & Lehmacher 1995).
A trend (the metric gets better as the levels of a factor grow) applies the rule to the slope of the
metric over the levels, and stability (a smaller proportion of runs diverges, collapses, or either)
to the difference of two proportions, by exact tests.

Equivalence (two arms differ by less than the margin m) uses the two one-sided tests (Schuirmann
1987): supported if the 1 - 2 alpha interval is inside +-m, refuted if the 1 - alpha interval is
outside +-m, else undecided. Non-inferiority (an arm is not worse by the margin m or more) is
one-sided: supported if the 1 - alpha interval is above -m, refuted if it is below -m. A better arm
never refutes the claim. Both may name a positive control, an arm of the same sweep that
loses more than the margin. Without a control, it is not shown that the runs could detect a loss.

Exact claims (a condition must hold in every case) are in ablate.verdict.exact.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from jaxtyping import Bool
from scipy import special

from ablate.config.study import Claim
from ablate.evidence.folder import Evidence
from ablate.evidence.outcome import UNSTABLE, is_unstable, reason
from ablate.stats import Tests, at_most
from ablate.stats.corrections import ONCE
from ablate.stats.estimate import Values, half_widths, planned_error
from ablate.stats.rates import Rates, p_values
from ablate.verdict.contrast import contrast
from ablate.verdict.exact import Exact, TrainedValue, examine, trained_value
from ablate.verdict.kind import POWER, ClaimResult, Kind, arm_problems
from ablate.verdict.sides import is_independent, sides
from ablate.verdict.types import (
    DIRECTION,
    INCONCLUSIVE,
    LARGE,
    OPPOSITE,
    REFUTED,
    SMALL,
    SUPPORTED,
    Band,
    Decision,
    status_of,
    thresholds,
)

PLANNED = 0.2  # proportion for which seeds are planned if a claim of stability names none


class Superiority(Kind):
    """The kind of claim that the mean paired difference is above 0."""

    rule = (
        "supported when the whole interval lies above 0 and its upper end is at least the margin "
        "(but maybe small, unless the whole interval lies above the margin). They are refuted when "
        "the whole interval lies below the margin (the other way round if the whole interval lies "
        "below 0, otherwise too small to matter). Otherwise they are undecided"
    )

    def p_values(self, estimate: Any, margin: float) -> Tests:
        """Return, for each status and grade that a verdict can have, the one-sided p-value of its
        test.

        The null hypotheses on the true effect are, with the margin m: at most 0 for SUPPORTED, at
        least m for REFUTED, at most m for LARGE, and at least 0 for OPPOSITE. Without a margin, the
        grades have no tests of their own.
        """
        p = {SUPPORTED: estimate.p_at_most(0.0), REFUTED: estimate.p_at_least(margin)}
        if not margin:
            return p
        return p | {LARGE: estimate.p_at_most(margin), OPPOSITE: estimate.p_at_least(0.0)}

    def decide(self, p: Tests, alpha: float) -> Decision:
        """Return the decision for p-values by the rule in the docstring of this module."""
        status = status_of(p, alpha)
        if status == REFUTED:
            return Decision(status, OPPOSITE if at_most(p.get(OPPOSITE, 0.0), alpha) else SMALL)
        if status == INCONCLUSIVE:
            return Decision(status)
        return Decision(status, LARGE if at_most(p.get(LARGE, 1.0), alpha) else DIRECTION)

    def decision_thresholds(self, estimate: Any, alpha: float) -> list[Band]:
        """Return the margins at which the decision changes: 0, and each positive end of the
        effect's confidence interval.
        """
        low, high = estimate.interval(1 - alpha)
        if low <= 0:
            grade = OPPOSITE if high < 0 else SMALL
            return thresholds((0.0, INCONCLUSIVE), (high, REFUTED, grade))
        return thresholds(
            (0.0, SUPPORTED, LARGE), (low, SUPPORTED, DIRECTION), (high, REFUTED, SMALL)
        )

    def planning_effects(self, claim: Claim) -> dict[str, float]:
        """Return, for each decision, the true effect for which the number of seeds is planned. For
        "supported" it is `plan_for`, or the margin if `plan_for` is not set; for "large enough to
        matter" it is twice the margin.
        """
        margin = claim["margin"]
        effects = {SUPPORTED: claim.get("plan_for") or margin, LARGE: 2 * margin}
        return {status: effect for status, effect in effects.items() if effect}

    def smallest_estimate(self, status: str, margin: float, down: Values, up: Values) -> Values:
        """Return the smallest estimate that is supported, or "large enough to matter"."""
        return margin + down if status == LARGE else np.maximum(down, margin - up)


class Trend(Superiority):
    """The kind of claim that the metric gets better as the levels (values) of a factor grow: its
    slope in the better direction is above 0.
    """

    rule = "judged like superiority claims, with the slope in place of the difference between arms"

    def problems(self, claim: Claim, factors: list[str]) -> Iterator[str]:
        """Yield a problem unless the claim's key `over` names a factor of the study."""
        if claim["over"] not in factors:
            yield (
                f"over={claim['over'] or 'nothing'}; a trend runs over a factor of the study: "
                f"{', '.join(factors)}"
            )


class Sameness(Kind):
    """The kind of claim that one arm differs from another by less than the margin, in both
    directions (equivalence) or only for the worse (non-inferiority).
    """

    needs_margin = True
    controlled = True

    def planning_effects(self, claim: Claim) -> dict[str, float]:
        """Return the true difference for which seeds are planned, for the decision "supported".

        The difference is the claim's `plan_for`, or 0 if the claim has none.
        """
        return {SUPPORTED: claim.get("plan_for") or 0.0}


class Equivalence(Sameness):
    """The kind of claim that the mean paired difference is within the margin on both sides."""

    rule = (
        "supported when the 90 % interval (1 - 2 alpha) lies within the margin on both sides, "
        "refuted when the whole 95 % interval (1 - alpha) lies outside of the margin"
    )
    full_alpha = (SUPPORTED,)
    signs = (-1, 1)

    def p_values(self, estimate: Any, margin: float) -> Tests:
        """Return the p-values of the decisions: supported, if two tests show that the difference is
        within the margin on both sides; refuted, if a test shows that it is outside.
        """
        return {
            SUPPORTED: max(estimate.p_at_most(-margin), estimate.p_at_least(margin)),
            REFUTED: min(estimate.p_at_most(margin), estimate.p_at_least(-margin)),
        }

    def failure_p_values(self, better: float, worse: float) -> Tests:
        """Return the p-values of the decisions; different failure rates refute equivalence."""
        return {SUPPORTED: 1.0, REFUTED: min(better, worse)}

    def decision_thresholds(self, estimate: Any, alpha: float) -> list[Band]:
        """Return the margins at which the decision changes. The claim is refuted below the first
        threshold: the 1 - alpha interval lies wholly outside ±margin. It is supported above the
        second: the 1 - 2 alpha interval lies wholly inside ±margin.
        """
        (low, high), narrow = estimate.interval(1 - alpha), estimate.interval(1 - 2 * alpha)
        inside, outside = max(map(abs, narrow)), max(low, -high)
        return thresholds((0.0, REFUTED), (outside, INCONCLUSIVE), (inside, SUPPORTED))

    def power(
        self, status: str, estimate: Any, margin: float, effect: float, pairs: int, alpha: float
    ) -> float:
        """Return the probability that the claim is supported, if `effect` is the true difference.

        As for other kinds, the result is a mean over likely standard deviations.
        """
        error, (down, up) = planned_error(estimate, pairs), half_widths(estimate, pairs, alpha)
        chance = special.ndtr((margin - up - effect) / error)
        chance = chance - special.ndtr((down - margin - effect) / error)
        return float(np.maximum(chance, 0.0).mean())


class NonInferiority(Sameness):
    """The kind of claim that the mean paired difference is above minus the margin."""

    rule = (
        "supported when the whole interval lies above minus the margin, and refuted when the whole "
        "interval lies below minus the margin. A better treatment therefore never refutes the claim"
    )
    signs = (-1,)

    def p_values(self, estimate: Any, margin: float) -> Tests:
        """Return the p-values against the hypotheses that the arm is worse by the margin or more
        (supported), and that it is worse by the margin at most, or better (refuted).
        """
        return {SUPPORTED: estimate.p_at_most(-margin), REFUTED: estimate.p_at_least(-margin)}

    def decision_thresholds(self, estimate: Any, alpha: float) -> list[Band]:
        """Return the margins at which the decision changes: minus the ends of the interval."""
        low, high = estimate.interval(1 - alpha)
        return thresholds((0.0, REFUTED), (-high, INCONCLUSIVE), (-low, SUPPORTED))

    def smallest_estimate(self, status: str, margin: float, down: Values, up: Values) -> Values:
        """Return the smallest estimate that is supported."""
        return down - margin


class Stability(Superiority):
    """The kind of claim that a smaller proportion of runs diverges or collapses in one arm than in
    another.
    """

    rule = (
        "judged like superiority claims, by the difference between the proportions of runs that "
        "diverge or collapse"
    )
    most_seeds = 100  # the exact test enumerates a number of tables that grows with the square

    def problems(self, claim: Claim, factors: list[str]) -> Iterator[str]:
        """Yield a problem unless the metric of the claim counts diverged or collapsed runs, and its
        margin is a proportion.
        """
        yield from arm_problems(claim)
        if claim["metric"] not in UNSTABLE:
            yield f"metric={claim['metric']}; stability counts {' or '.join(UNSTABLE)}"
        if claim["margin"] >= 1:
            yield (
                f"margin={claim['margin']:g}, but two proportions of runs differ by at most 1, so "
                "that the claim could come out in one way only; allowed is a smaller margin"
            )

    def evaluate(self, claim: Claim, evidence: Evidence) -> ClaimResult:
        """Return the result of a claim: a test of the proportions of failed runs in both arms.

        The runs of a seed count even if only one of the arms has runs with this seed. The arm with
        positive weight in the difference comes first.
        """
        paired = None if is_independent(claim) else contrast(claim, evidence)
        arms = paired.sides if paired else sides(claim, evidence)
        counts = [
            (sum(is_unstable(run, claim["metric"]) for run in side.completed), len(side.completed))
            for side in sorted(arms, key=lambda side: -side.weight)
        ]
        rates = Rates(*counts[0], *counts[1], paired.looks if paired else ONCE)
        return self.claim_result(claim, rates, sides=arms, paired=paired)

    def detectable(
        self, claim: Claim, estimate: Any, alpha: float, pairs: int | None = None
    ) -> float | None:
        """Return the smallest failure rate of one arm that the test detects with power 0.8 when no
        run of the other arm fails.

        The numbers of runs are taken from `estimate`; `pairs` is ignored. The result is None if an
        arm has no runs, or if no rate is detected.
        """
        if not estimate.is_known:
            return None
        from scipy import stats  # here, because it takes longer to import than the rest

        rejected = p_values(estimate.of_first, estimate.of_second, 0.0)[:, 0] <= alpha / 2
        events = np.arange(estimate.of_first + 1)
        for share in np.arange(1, 101) / 100:
            if stats.binom.pmf(events, estimate.of_first, share)[rejected].sum() >= POWER:
                return float(share)
        return None

    def planning_effects(self, claim: Claim) -> dict[str, float]:
        """Return, for each decision, the true difference of proportions for which the number of
        seeds is planned.

        For a claim that names neither such a difference nor a margin, the difference is 0.2.
        """
        effects = super().planning_effects(claim) or {SUPPORTED: PLANNED}
        return {status: share for status, share in effects.items() if share <= 1}

    def can_plan(self, estimate: Any) -> bool:
        """Return whether both arms have runs, so that a number of seeds can be planned."""
        return bool(estimate.is_known)

    def power(
        self, status: str, estimate: Any, margin: float, effect: float, pairs: int, alpha: float
    ) -> float:
        """Return the exact power of the test for `pairs` runs of each arm.

        A proportion `effect` of the runs of one arm fails, and no run of the other arm.
        """
        from scipy import stats

        chance = stats.binom.pmf(np.arange(pairs + 1), pairs, effect)
        return float(chance[_leads_to(status, margin, pairs, alpha)[:, 0]].sum())


def _leads_to(status: str, margin: float, runs: int, alpha: float) -> Bool[np.ndarray, "a b"]:
    """Return which numbers of failed runs lead to the decision `status`, as a table of booleans.

    A row stands for a number of failed runs in the first arm, and a column for a number in the
    second.

    Args:
        status: name of the decision.
        margin: the margin of the claim.
        runs: number of runs of each arm.
        alpha: the level.
    """
    if status == LARGE:
        return np.asarray(p_values(runs, runs, margin) <= alpha / 2)
    below = alpha / 2 >= p_values(runs, runs, -margin).T
    return np.asarray((p_values(runs, runs, 0.0) <= alpha / 2) & ~below)


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
    full_alpha = (SUPPORTED, REFUTED)
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

    def evaluate(self, claim: Claim, evidence: Evidence) -> ClaimResult:
        """Return the result of an exact claim: the value of each case.

        If the claim is about trained models, whose values vary between seeds, the result also has
        the mean over seeds and its p-values.
        """
        arms = sides(claim, evidence)
        cases = examine(claim, arms, evidence)
        result = trained_value(claim, arms, cases, evidence) or cases
        unmeasured = result is not cases and not result.pairs
        problem = reason("no_trained_model") if unmeasured else None
        tests = result.p_values(claim["margin"] or claim["tolerance"])
        return ClaimResult(claim, result, arms, cases=cases, p=tests, problem=problem)

    def p_values(self, estimate: Exact | TrainedValue, margin: float) -> Tests:
        """Return the p-values of a claim about trained models.

        The result is {} for other claims, which are not random.
        """
        return estimate.p_values(margin)

    def can_plan(self, estimate: Any) -> bool:
        """Return False, because an exact claim states no effect for which to plan seeds."""
        return False

    def decision_thresholds(self, estimate: Exact | TrainedValue, alpha: float) -> list[Band]:
        """Return the tolerances or margins at which the decision changes; [] for no value."""
        return estimate.decision_thresholds(alpha)


KINDS: dict[str, Kind] = {
    "exact": ExactKind(),
    "superiority": Superiority(),
    "equivalence": Equivalence(),
    "non_inferiority": NonInferiority(),
    "stability": Stability(),
    "trend": Trend(),
}


def kind_of(claim: Mapping[str, object]) -> Kind:
    """Return the object with the rule for a claim, by the claim's key `kind`."""
    return KINDS[str(claim["kind"])]
