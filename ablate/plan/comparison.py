"""Plan a comparison: the number of runs that it needs, and the effect that a number of runs can
detect.
"""

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Literal

from pydantic import BaseModel, Field
from scipy import special

from ablate.errors import UserError
from ablate.evidence.sources import read
from ablate.referee.question import question_of
from ablate.referee.runs import runs_of
from ablate.stats.means import MeanDifference, VarianceTerm, variance_term
from ablate.verdict.kinds import KINDS
from ablate.verdict.types import Planned
from ablate.words.reasons import sentence

DOUBT = 0.8  # confidence of the upper bound for a standard deviation estimated from few runs


class Plan(BaseModel):
    """A planned comparison of two arms, or of an arm with a number.

    Args:
        sd: standard deviation of the runs of an arm; of the differences if they are paired.
        margin: smallest difference that matters.
        kind: superiority | equivalence | non_inferiority.
        design: unpaired | paired | target (comparison with a number).
        alpha: significance level.
        test: corrected | textbook: whether the t test will be corrected for skewness; "" means:
            only if the runs are paired.
        df: degrees of freedom of the standard deviation.
    """

    sd: float = Field(gt=0, allow_inf_nan=False)
    margin: float = Field(gt=0, allow_inf_nan=False)
    kind: Literal["superiority", "equivalence", "non_inferiority"] = "superiority"
    design: Literal["unpaired", "paired", "target"] = "unpaired"
    alpha: float = Field(default=0.05, gt=0, lt=0.5)
    test: Literal["", "corrected", "textbook"] = ""
    df: float = math.inf

    def noise(self, runs: int, sd: float) -> MeanDifference:
        """Return a comparison with effect 0 that has the standard error to plan with.

        Args:
            runs: number of runs of each arm.
            sd: standard deviation of the runs.
        """
        arms = 2 if self.design == "unpaired" else 1
        part = VarianceTerm(sd**2, math.inf, 1.0, float(runs))
        mean_difference = MeanDifference(0.0, (part,) * arms, self.design, (runs,) * arms)
        corrects = self.test == "corrected" if self.test else self.design == "paired"
        return replace(mean_difference, skewness=0.0, skewed=runs) if corrects else mean_difference

    def needed(self, sd: float) -> dict[str, Planned]:
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
        return {"kind": self.kind, "margin": self.margin, "alpha": self.alpha, "plan_for": None}


def sentences(plan: Plan, runs: int | None) -> Iterator[str]:
    """Yield the sentences that describe a plan; `runs` is a number of runs per arm to evaluate, or
    None.
    """
    unit = {"unpaired": "runs per arm", "paired": "pairs", "target": "runs"}[plan.design]
    for side, needed in plan.needed(plan.sd).items():
        sentence = f"{side}: {_count(needed['seeds'])} {unit} have 80 % power if the true effect "
        sentence += f"is {needed['effect']:g}"
        large = plan.largest_sd()
        if large > plan.sd * 1.005:
            more = _count(plan.needed(large)[side]["seeds"])
            sentence += f"; {more} if the standard deviation is at its upper limit of {large:.3g}"
        yield f"{sentence}."
    if runs:
        what = "a margin" if KINDS[plan.kind].needs_margin else "a true effect"
        least = plan.detectable(runs)
        yield f"{runs} {unit} detect {what} of {least:.3g} with 80 % power."


def _count(runs: int | None) -> str:
    return f"{runs:,}" if runs else "more than 1,000"


def spread(runs: Any, arm: str, baseline: str, **columns: str) -> tuple[float, float, list[str]]:
    """Return the standard deviation of the runs of an arm, its degrees of freedom, and reasons to
    doubt them.

    Args:
        runs: a source of runs, as for `ablate.compare`.
        arm, baseline: the column of the arms, and the name of the arm; both "": all runs.
        **columns: the columns `metric`, `run` and `step`.

    Raises:
        UserError: there is no such arm, or its runs do not vary.
    """
    where = {arm: baseline} if arm else {}
    question = question_of({"better": "lower", "missing": "leave_out", "where": where, **columns})
    counted = runs_of(read(runs, question.columns), question)
    values = counted.results
    part = variance_term(values)
    if part is None or not part.variance:
        raise UserError(f"{question.metric}: {len(values)} runs show no run-to-run variation")
    doubts = [sentence(note) for note in counted.notes if note["code"] == "steps_as_runs"]
    return math.sqrt(part.variance), part.df, doubts
