"""Define the interface of kinds of claims, such as superiority and equivalence.

Each condition of a decision rule is a one-sided test, at alpha / 2 (for an end of a two-sided
interval) or at alpha. Rules are therefore applied to p-values, which Holm's correction can adjust.
In the docstrings of kinds, a p-value is one-sided and unadjusted. A p-value "on the scale of alpha"
is multiplied so that it is compared with alpha.
"""

import math
from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, cast

from scipy import optimize, special

from ablate.config.study import Claim
from ablate.evidence.folder import Evidence
from ablate.evidence.outcome import Reason, Run, TableClaim, reason
from ablate.stats import Tests, at_most
from ablate.stats.corrections import ONCE
from ablate.stats.estimate import Estimate, Values, half_widths, planned_error
from ablate.stats.means import MeanDifference
from ablate.stats.rates import Rates
from ablate.verdict.contrast import Contrast, contrast, control
from ablate.verdict.exact import Exact
from ablate.verdict.floor import FEWEST, failures, rates_of_failure, single_answer
from ablate.verdict.sides import ContrastError, Side, effect_of, is_independent, problem_of, sides
from ablate.verdict.types import REFUTED, SUPPORTED, Band, Decision, Failures, Planned, status_of

Tested = Estimate | MeanDifference | Rates
NOTHING = Estimate(math.nan, 0, 0, math.nan, math.nan)
POWER = 0.8


@dataclass(frozen=True)
class ClaimResult:
    """The statistical result of a claim: its estimate and its p-values, from which the verdict
    follows, or the reason why the claim cannot be judged.
    """

    claim: Claim
    result: Tested | Exact
    # the compared arms; [] if the runs cannot form the difference
    sides: list[Side] = field(default_factory=list)
    paired: Contrast | None = None
    p: Tests = field(default_factory=dict)  # one-sided, not adjusted; {} for an exact claim
    problem: Reason | None = None  # the reason why the claim cannot be judged
    cases: Exact | None = None  # for an exact claim about trained models
    # numbers of runs that failed to learn, by arm
    failures: dict[str, Failures] = field(default_factory=dict)
    rates: Rates | None = None  # failure rates, if they decide the claim

    @property
    def runs(self) -> list[Run]:
        """All runs of the claim, including failed runs."""
        return [run for side in self.sides for run in side.all_runs]


class Kind(ABC):
    """A kind of claim, such as superiority: how it is checked, decided and planned."""

    rule: str  # when a claim is supported and refuted, as a sentence for reports
    needs_margin = False
    signs: tuple[int, ...] = (1,)  # of the margins to compare with the ends of an interval
    controlled = False  # whether a claim may name a positive control, an arm that loses
    most_seeds = 100_000
    full_alpha: tuple[str, ...] = ()  # decisions with a test at alpha, not alpha / 2

    def problems(self, claim: Claim, factors: list[str]) -> Iterator[str]:
        """Yield why this kind cannot decide a claim.

        Args:
            claim: the claim.
            factors: factors of the study.
        """
        yield from arm_problems(claim)
        if self.needs_margin and claim["margin"] == 0:
            yield f"margin=0, but {claim['kind']} needs a margin above 0"

    def evaluate(self, claim: Claim, evidence: Evidence) -> ClaimResult:
        """Return the statistical result of a claim.

        Raises:
            UserError: the recorded score of a run and its statistics disagree.
        """
        try:
            if evidence.study.get("design") or is_independent(claim):
                return self._of_means(claim, evidence)
            paired = contrast(claim, evidence)
        except ContrastError as problem:
            return self.claim_result(claim, NOTHING, problem.reason)
        effect, arms = paired.estimate, paired.sides
        if why := single_answer(
            claim, arms, evidence, partial(control, claim, evidence), paired.differences
        ):
            return self.claim_result(claim, effect, why, sides=arms, paired=paired)
        failed, learned = failures(claim, arms), paired.among_learned()
        # the failed runs of a table have no value, and therefore no difference
        without = "design" in claim and any(count["runs"] for count in failed.values())
        if learned.seeds == paired.seeds and not without:
            return self.claim_result(claim, effect, sides=arms, paired=paired, failures=failed)
        effect, few = learned.estimate, None
        if effect.pairs < FEWEST:
            few = reason("too_few_learned", pairs=effect.pairs, needed=FEWEST)
        finding = self.claim_result(claim, effect, few, sides=arms, paired=learned, failures=failed)
        return self._with_rates(finding, rates_of_failure(claim, arms, learned.looks))

    def _of_means(self, claim: Claim, evidence: Evidence) -> ClaimResult:
        """Return the result of a claim about runs that are not paired: those of a study of
        combinations, or of a table.
        """
        arms = sides(claim, evidence)
        rates = rates_of_failure(claim, arms, ONCE)
        if evidence.study.get("design"):
            from ablate.verdict.designs import of_recipes  # few studies need it

            effect, problem = of_recipes(claim, evidence, rates)
            rates = None
        else:
            effect = effect_of(cast(TableClaim, claim), arms)
            problem = problem_of(effect, arms, cast(TableClaim, claim))
        failed = failures(claim, arms)
        finding = self.claim_result(claim, effect, problem, sides=arms, failures=failed)
        return self._with_rates(finding, rates)

    def _with_rates(self, finding: ClaimResult, rates: Rates | None) -> ClaimResult:
        """Return the result of a claim of which some runs failed.

        The rates of failed runs decide the claim if they differ significantly. Otherwise the mean
        difference over the pairs of runs that learned decides it. Each of these two tests has half
        of alpha, so its p-values are doubled. If no distribution of the few failed runs between the
        arms could be significant, the test of the mean has all of alpha.

        Args:
            finding: the result by the mean over the runs that learned.
            rates: the rates of failed runs; None if they cannot decide the claim.
        """
        if rates is None:
            return finding
        if tests := self._by_failures(rates, finding):
            return replace(finding, p=tests, problem=None, rates=rates)
        if finding.problem or not any(self._by_failures(x, finding) for x in rates.splits()):
            return finding
        return replace(finding, p=doubled(finding.p))

    def _by_failures(self, rates: Rates, finding: ClaimResult) -> Tests | None:
        """Return the p-value of each decision, from the tests that the treatment fails less, or
        more, often than the baseline (as the claim says); None if neither test is significant.
        """
        tests = doubled(self.failure_p_values(rates.p_at_most(0.0), rates.p_at_least(0.0)))
        decided = at_most(min(self.scaled_to_alpha(tests).values()), finding.claim["alpha"])
        return tests if decided else None

    def failure_p_values(self, better: float, worse: float) -> Tests:
        """Return the p-value of each decision, from the tests of the failure rates.

        Args:
            better: p-value of the test that the difference in failure rates is in the direction of
                the claim: the treatment fails less often, or more often if it is claimed worse.
            worse: p-value of the test that the difference is in the other direction.
        """
        return {SUPPORTED: better, REFUTED: worse}

    def claim_result(
        self, claim: Claim, estimate: Tested, problem: Reason | None = None, **fields: Any
    ) -> ClaimResult:
        """Return the result of a claim: the estimate and its p-values.

        Args:
            claim: the claim.
            estimate: the effect, or the failure rates of two arms.
            problem: the reason why the claim cannot be judged, if there is such a reason.
            fields: further fields of the result.
        """
        p = self.p_values(NOTHING if problem else estimate, float(claim["margin"]))
        return ClaimResult(claim, estimate, p=p, problem=problem, **fields)

    @abstractmethod
    def p_values(self, estimate: Any, margin: float) -> Tests:
        """Return, for each status and grade that a verdict can have, the one-sided p-value of its
        test.
        """

    def scaled_to_alpha(self, p: Tests) -> Tests:
        """Return p-values multiplied so that each is compared with alpha, by name of the
        decision.
        """
        return {name: x if name in self.full_alpha else min(1.0, 2 * x) for name, x in p.items()}

    def decide(self, p: Tests, alpha: float) -> Decision:
        """Return the decision on a claim from its p-values.

        By default, the decision has no grade.

        Args:
            p: p-values on the scale of alpha, by name of the decision, corrected by Holm or not.
            alpha: the significance level.
        """
        return Decision(status_of(p, alpha))

    def decide_uncorrected(self, estimate: Any, margin: float, alpha: float) -> Decision:
        """Return the decision on an estimate, without Holm's correction for other claims."""
        return self.decide(self.scaled_to_alpha(self.p_values(estimate, margin)), alpha)

    @abstractmethod
    def decision_thresholds(self, estimate: Any, alpha: float) -> list[Band]:
        """Return the margins, from 0 on, at which the decision changes.

        Each entry has the decision that holds from its margin up to the next margin.
        """

    def planning_effects(self, claim: Claim) -> dict[str, float]:
        """Return, for each decision, the true effect for which the number of seeds is planned.

        This effect comes from the claim and never from the measurement. By default, seeds are not
        planned.
        """
        return {}

    def power(
        self, status: str, estimate: Any, margin: float, effect: float, pairs: int, alpha: float
    ) -> float:
        """Return the probability of a decision, if `effect` is true.

        The width of the interval depends on the standard deviation that the planned sweep will
        measure. So the result is a mean over likely standard deviations.

        Args:
            status: name of the decision.
            estimate: an estimate with the noise to assume.
            margin: the margin of the claim.
            effect: the true effect.
            pairs: number of paired seeds.
            alpha: the level.
        """
        bound = self.smallest_estimate(status, margin, *half_widths(estimate, pairs, alpha / 2))
        return float(special.ndtr((effect - bound) / planned_error(estimate, pairs)).mean())

    def smallest_estimate(self, status: str, margin: float, down: Values, up: Values) -> Values:
        """Return the lowest estimate that leads to the decision `status`.

        Args:
            status: name of the decision, such as "supported".
            margin: the margin of the claim.
            down: likely distances from the estimate to the lower end of its interval.
            up: likely distances to the upper end.
        """
        raise NotImplementedError

    def can_plan(self, estimate: Any) -> bool:
        """Return whether the estimate has a known standard deviation, so that seeds can be
        planned.
        """
        return bool(estimate.error > 0) and estimate.degrees(estimate.pairs) >= 1

    def detectable(
        self, claim: Claim, estimate: Any, alpha: float, pairs: int | None = None
    ) -> float | None:
        """Return the smallest true effect for which the claim would be supported with power 0.8.

        For a claim that the difference is within a margin (equivalence, non-inferiority), return
        instead the smallest margin with which the claim would be supported with this power if there
        is no effect. The result is None if the number of seeds cannot be planned for this kind of
        claim.

        Args:
            claim: the claim.
            estimate: an estimate with the noise to assume.
            alpha: the level.
            pairs: number of paired seeds; default: those of the estimate.
        """
        if not self.can_plan(estimate):
            return None
        seeds = estimate.pairs if pairs is None else pairs

        def missing(x: float) -> float:
            margin, effect = (x, 0.0) if self.needs_margin else (0.0, x)
            return self.power(SUPPORTED, estimate, margin, effect, seeds, alpha) - POWER

        high = estimate.error
        while missing(high) < 0:
            high *= 2
        return float(optimize.brentq(missing, 0.0, high, rtol=1e-4))

    def seeds_needed(self, claim: Claim, estimate: Any, alpha: float) -> dict[str, Planned]:
        """Return for each planned decision the number of seeds at which the decision has power .8.

        The standard deviation is assumed to be as measured. The number is None if `most_seeds` are
        not enough.
        """
        if not self.can_plan(estimate):
            return {}

        def seeds(status: str, effect: float) -> int | None:
            def enough(pairs: int) -> bool:
                return self.power(status, estimate, claim["margin"], effect, pairs, alpha) >= POWER

            if not enough(self.most_seeds):
                return None
            # the power grows with the number of pairs
            return 2 + bisect_left(range(2, self.most_seeds), True, key=enough)

        effects = self.planning_effects(claim).items()
        return {name: {"effect": effect, "seeds": seeds(name, effect)} for name, effect in effects}


def doubled(p: Tests) -> Tests:
    """Return p-values multiplied by 2, for a claim whose alpha is shared equally by two tests."""
    return {status: min(1.0, 2 * x) for status, x in p.items()}


def arm_problems(claim: Claim) -> Iterator[str]:
    """Yield what is wrong with a claim that does not name two different arms."""
    if not claim["treatment"] or claim["treatment"] == claim["baseline"]:
        yield (
            f"treatment={claim['treatment']} and baseline={claim['baseline']}; {claim['kind']} "
            "needs two different arms"
        )
