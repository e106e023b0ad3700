"""Plan a comparison: the number of runs that it needs, and the effect that a number of runs can
detect.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from scipy import special

from ablate.errors import UserError
from ablate.referee.question import CORRECTED, TEXTBOOK, Claim
from ablate.stats.means import MeanDifference, Part, Variance
from ablate.verdict.kind import KINDS
from ablate.verdict.kind.base import Plan as SeedPlan

DESIGNS = ("unpaired", "paired", "target")
PLANNED_KINDS = ("superiority", "equivalence", "non_inferiority")
DOUBT = 0.8  # confidence of the upper bound for a standard deviation estimated from few runs


@dataclass(frozen=True)
class Plan:
    """A planned comparison of two arms, or of an arm with a number.

    Args:
        sd: standard deviation of the runs of an arm; of the differences if they are paired.
        margin: smallest difference that matters.
        kind: superiority | equivalence | non_inferiority.
        design: unpaired | paired | target (comparison with a number).
        alpha: 1 minus the confidence level of the two-sided interval.
        test: corrected | textbook: whether the t test will be corrected for skewness; "" means:
            only if the runs are paired.
        df: degrees of freedom of the standard deviation.
    """

    sd: float
    margin: float
    kind: str = "superiority"
    design: str = "unpaired"
    alpha: float = 0.05
    test: str = ""
    df: float = math.inf

    def noise(self, runs: int, sd: float) -> MeanDifference:
        """Return a comparison with effect 0 that has the standard error to plan with.

        Args:
            runs: number of runs of each arm.
            sd: standard deviation of the runs.
        """
        arms = 2 if self.design == "unpaired" else 1
        part = Part(Variance(sd**2, math.inf), 1.0, float(runs))
        mean_difference = MeanDifference(0.0, (part,) * arms, self.design, (runs,) * arms)
        corrects = self.test == CORRECTED if self.test else self.design == "paired"
        return replace(mean_difference, skewness=0.0, skewed=runs) if corrects else mean_difference

    def needed(self, sd: float) -> dict[str, SeedPlan]:
        """Return, for each decision, the assumed true effect and the runs per arm for power 0.8.

        The number of runs is None if no number is enough. `sd` is the standard deviation of the
        runs.
        """
        return KINDS[self.kind].seeds_needed(self._rule(), self.noise(2, sd), self.alpha)

    def detectable(self, runs: int) -> float | None:
        """Return the effect (for equivalence, the margin) that `runs` runs per arm detect with
        power 0.8.
        """
        return KINDS[self.kind].detectable(self._rule(), self.noise(runs, self.sd), self.alpha)

    def largest_sd(self) -> float:
        """Return the upper confidence bound (80 %, one-sided) of the standard deviation."""
        if math.isinf(self.df):
            return self.sd
        return float(self.sd * math.sqrt(self.df / special.chdtri(self.df, DOUBT)))

    def _rule(self) -> Any:
        return Claim(kind=self.kind, margin=self.margin, alpha=self.alpha).rule()


def check(plan: Plan) -> None:
    """Raise UserError for a plan with impossible values."""
    if not 0 < plan.sd < math.inf:
        raise UserError(f"sd={plan.sd:g}: it must be a finite number above 0")
    if not 0 < plan.margin < math.inf:
        raise UserError(
            f"margin={plan.margin:g}: it must be above 0; give the smallest difference that matters"
        )
    if plan.kind not in PLANNED_KINDS:
        raise UserError(f"kind={plan.kind}: allowed is {', '.join(PLANNED_KINDS)}")
    if plan.design not in DESIGNS:
        raise UserError(f"design={plan.design}: allowed is {', '.join(DESIGNS)}")
    if plan.test not in ("", CORRECTED, TEXTBOOK):
        raise UserError(f"test={plan.test}: allowed is {CORRECTED}, {TEXTBOOK}")
    if not 0 < plan.alpha < 0.5:
        raise UserError(f"alpha={plan.alpha:g}: it must be between 0 and 0.5")


def sentences(plan: Plan, runs: int | None) -> Iterator[str]:
    """Yield the sentences that describe a plan; `runs` is a number of runs per arm to evaluate, or
    None.
    """
    unit = {"unpaired": "runs per arm", "paired": "pairs", "target": "runs"}[plan.design]
    for side, needed in plan.needed(plan.sd).items():
        sentence = f"{side}: {_many(needed.seeds)} {unit} have 80 % power if the true effect is "
        sentence += f"{needed.effect:g}"
        large = plan.largest_sd()
        if large > plan.sd * 1.005:
            more = _many(plan.needed(large)[side].seeds)
            sentence += f"; {more} if the standard deviation is at its upper limit of {large:.3g}"
        yield f"{sentence}."
    if runs:
        what = "a margin" if KINDS[plan.kind].needs_margin else "a true effect"
        least = plan.detectable(runs)
        yield f"{runs} {unit} detect {what} of {least:.3g} with 80 % power."


def _many(runs: int | None) -> str:
    return f"{runs:,}" if runs else "more than 1,000"
