"""What every kind of claim says of itself.

Each condition of a rule is a one-sided test at alpha / 2, one end of a two-sided interval, or at
alpha; so rules are applied to p-values, which Holm's correction can adjust. In what is below, p is
one-sided and as it is; "on the scale of alpha" it is what is compared with alpha.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from scipy import optimize

from ablate.errors import UserError
from ablate.evidence.folder import Evidence
from ablate.evidence.types import Claim, Failures, Planned, Run
from ablate.stats.estimate import Estimate
from ablate.stats.holm import Tests
from ablate.stats.power import has_spread
from ablate.stats.rates import Rates
from ablate.verdict.contrast import Contrast, contrast
from ablate.verdict.decidable import one_way
from ablate.verdict.decision import REFUTED, SUPPORTED, Decision, Turn
from ablate.verdict.exact import Exact
from ablate.verdict.failures import FEWEST, failures, rates_of_failure
from ablate.verdict.sides import ContrastError

Tested = Estimate | Rates
NOTHING = Estimate(math.nan, 0, 0, math.nan, math.nan)
POWER = 0.8


@dataclass(frozen=True)
class Finding:
    """What the evidence says of a claim, before its verdict."""

    claim: Claim
    found: Tested | Exact
    runs: list[Run]  # all that the claim is about, failed ones too
    paired: Contrast | None = None
    p: Tests = field(default_factory=dict)  # one-sided, not adjusted; empty for an exact claim
    problem: str = ""  # why there is nothing to judge
    cases: Exact | None = None  # of an exact claim about trained models
    failures: dict[str, Failures] = field(default_factory=dict)  # runs that failed to learn, by arm
    rates: Rates | None = None  # those of failing to learn, where they decide


class Kind(ABC):
    """A kind of claim."""

    rule: str  # when it is supported and refuted, as a report says it
    needs_margin = False
    controlled = False  # whether it may name a control, an arm that loses more than the margin
    most_seeds = 1000
    whole: tuple[str, ...] = ()  # decisions whose test has all of alpha, not one end's half

    def check(self, name: str, claim: Claim, factors: list[str]) -> None:
        """Raise UserError for a claim that this rule could not decide."""
        check_arms(name, claim)
        if self.needs_margin and claim["margin"] == 0:
            raise UserError(f"{name}: margin=0; {claim['kind']} needs one above 0")

    def find(self, claim: Claim, evidence: Evidence) -> Finding:
        """Estimate what a claim is about.

        Raises:
            UserError: the record of a run and its statistics disagree.
        """
        try:
            paired = contrast(claim, evidence)
        except ContrastError as problem:
            return self.without(claim, str(problem))
        if why := one_way(claim, paired.sides, evidence, paired.differences):
            return self.without(claim, why, paired.estimate, paired)
        failed = failures(claim, paired.sides)
        learned = paired.among_learned()
        if learned.seeds == paired.seeds:
            return replace(self.with_effect(claim, paired.estimate, paired), failures=failed)
        return replace(self._among_learned(claim, learned), failures=failed)

    def _among_learned(self, claim: Claim, learned: Contrast) -> Finding:
        """Decide by the rates of failure, else by the pairs that learned.

        Each has half of alpha. Where so few runs failed that no split of them between the arms
        would decide, the pairs have all of it.
        """
        effect, rates = learned.estimate, rates_of_failure(claim, learned.sides)
        if rates is not None and (tests := self.by_failures(rates, claim["alpha"])):
            return Finding(claim, effect, learned.runs, learned, tests, rates=rates)
        if effect.pairs < FEWEST:
            why = f"too few pairs of runs have learned ({effect.pairs}; an interval takes {FEWEST})"
            return self.without(claim, why, effect, learned)
        found = self.with_effect(claim, effect, learned)
        if rates is None or not self.could_decide(rates, claim["alpha"]):
            return found
        return replace(found, p=halved(found.p))

    def by_failures(self, rates: Rates, alpha: float) -> Tests | None:
        """Return the p-values of rates of failure at half of alpha; None where they are open."""
        tests = halved(self.of_failures(rates.p_at_most(0.0), rates.p_at_least(0.0)))
        return tests if min(self.scaled(tests).values()) <= alpha else None

    def could_decide(self, rates: Rates, alpha: float) -> bool:
        """Return whether any split of so many failures between the arms would decide."""
        return any(self.by_failures(split, alpha) for split in rates.splits())

    def of_failures(self, better: float, worse: float) -> Tests:
        """Return the p-values behind each decision, of failing less often and more often."""
        return {SUPPORTED: better, REFUTED: worse}

    def with_effect(self, claim: Claim, found: Tested, paired: Contrast) -> Finding:
        """A finding that a rule decides."""
        return Finding(claim, found, paired.runs, paired, self.tests(found, float(claim["margin"])))

    def without(
        self, claim: Claim, why: str, found: Tested = NOTHING, paired: Contrast | None = None
    ) -> Finding:
        """A finding that nothing decides, whatever its numbers."""
        p = self.tests(NOTHING, float(claim["margin"]))
        return Finding(claim, found, paired.runs if paired else [], paired, p, why)

    @abstractmethod
    def tests(self, found: Any, margin: float) -> Tests:
        """The one-sided p-values behind each decision."""

    def scaled(self, p: Tests) -> Tests:
        """p-values on the scale of alpha."""
        return {side: x if side in self.whole else min(1.0, 2 * x) for side, x in p.items()}

    @abstractmethod
    def decide(self, p: Tests, alpha: float) -> Decision:
        """Apply the rule to p-values on the scale of alpha, adjusted or not."""

    def alone(self, found: Any, margin: float, alpha: float) -> Decision:
        """The verdict on an effect that is the only one of its file."""
        return self.decide(self.scaled(self.tests(found, margin)), alpha)

    @abstractmethod
    def turns(self, found: Any, alpha: float) -> list[Turn]:
        """The verdict that the interval gives for every margin from 0 on, in closed form."""

    def bounds(self, margin: float) -> tuple[float, ...]:
        """What an interval is held against."""
        return (margin,)

    @abstractmethod
    def named(self, claim: Claim) -> dict[str, float]:
        """The true effect for which each decision is planned; never the one that was measured."""

    @abstractmethod
    def power(
        self, side: str, found: Any, margin: float, effect: float, pairs: int, alpha: float
    ) -> float:
        """Chance of a decision with this many pairs of the same noise, were `effect` true."""

    def planned(self, found: Any) -> bool:
        """Whether the noise is known, so that there is something to plan with."""
        return has_spread(found)

    def detectable(self, claim: Claim, found: Any, alpha: float) -> float | None:
        """Smallest true effect that is shown with power .8; where sameness is claimed, margin."""
        if not self.planned(found):
            return None

        def missing(x: float) -> float:
            margin, effect = (x, 0.0) if self.needs_margin else (0.0, x)
            return self.power(SUPPORTED, found, margin, effect, found.pairs, alpha) - POWER

        high = found.error
        while missing(high) < 0:
            high *= 2
        return float(optimize.brentq(missing, 0.0, high, rtol=1e-4))

    def seeds_needed(self, claim: Claim, found: Any, alpha: float) -> dict[str, "Plan"]:
        """Seeds with which each decision that `named` has an effect for has power .8.

        The noise is taken as measured. None for the seeds where no number of them is enough, as
        the test sentences are too few.
        """
        if not self.planned(found):
            return {}

        def seeds(side: str, effect: float) -> int | None:
            def enough(pairs: int) -> bool:
                return self.power(side, found, claim["margin"], effect, pairs, alpha) >= POWER

            return first(enough, 2, self.most_seeds)

        return {side: Plan(x, seeds(side, x)) for side, x in self.named(claim).items()}


@dataclass(frozen=True)
class Plan:
    """So many seeds decide with power .8 when this is the true effect."""

    effect: float
    seeds: int | None

    def entry(self) -> Planned:
        """As verdict.json has it."""
        return {"effect": self.effect, "seeds": self.seeds}


def halved(p: Tests) -> Tests:
    """Return p-values of one of two ways to a decision, which share alpha."""
    return {side: min(1.0, 2 * x) for side, x in p.items()}


def check_arms(name: str, claim: Claim) -> None:
    """Raise UserError for a claim without two different arms."""
    if not claim["treatment"] or claim["treatment"] == claim["baseline"]:
        raise UserError(f"{name}: {claim['kind']} compares a treatment with another baseline")


def distinct(turns: list[Turn]) -> list[Turn]:
    """The turns without those of no width, the first at 0."""
    kept = [t for t, after in zip(turns, [*turns[1:], None], strict=True) if _wide(t, after)]
    return [Turn(max(0.0, turn.margin), turn.decision) for turn in kept]


def _wide(turn: Turn, after: Turn | None) -> bool:
    return after is None or after.margin > max(0.0, turn.margin)


def first(enough: Callable[[int], bool], low: int, high: int) -> int | None:
    """Smallest number for which `enough` holds, given that it then holds for all larger ones."""
    if not enough(high):
        return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle + 1, high)
    return low
