"""Write a verdict on runs that this package did not make, in three layers: the headline, the
evidence, the details.

The headline has at most 25 words and the evidence at most 40, not counting the names of arms and
columns, which are never shortened.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

from ablate.phrases import listed
from ablate.referee.arms import label
from ablate.referee.decide import Judged
from ablate.referee.exact import Cases
from ablate.referee.measure import OVER_ALL
from ablate.referee.question import LEAVE_OUT, Claim, Design
from ablate.referee.runs import ALL_RUNS
from ablate.stats.means import MeanDifference
from ablate.stats.rates import Rates
from ablate.verdict.decision import (
    DIRECTION,
    INCONCLUSIVE,
    LARGE,
    SMALL,
    SUPPORTED,
    MarginThreshold,
)
from ablate.verdict.kind import KINDS
from ablate.verdict.wording.effects import PER
from ablate.verdict.wording.layers import opening_of


def plain(metric: str) -> str:
    """Return the name of a metric in words, without underscores and slashes."""
    return re.sub(r"[_/\s.]+", " ", metric).strip()


def number(value: float, error: float = 0.0) -> str:
    """Return a number as text, rounded to two digits of its standard error; without an error, to
    four digits.
    """
    if not math.isfinite(value):
        return "nothing" if math.isnan(value) else str(value)
    value += 0.0  # -0 becomes 0
    if not error or not math.isfinite(error):
        return f"{value:.4g}"
    digits = 1 - math.floor(math.log10(error))
    return f"{value:,.{min(max(digits, 0), 12)}f}" if -6 < digits < 13 else f"{value:.4g}"


@dataclass(frozen=True)
class Wording:
    """The sentences of a verdict on one claim: the headline, the evidence and the details."""

    judged: Judged
    design: Design

    @property
    def headline(self) -> str:
        """The answer in one sentence, for a reader who knows no statistics."""
        decision, grade = self.judged.decision, self.judged.decision.grade
        if not self.claim.margin:
            grade = grade.replace(DIRECTION, "")
        opening = opening_of(self.claim.kind, decision.status, grade)
        measured = self.judged.measured
        group, left_out = measured.group, measured.incomplete
        if group == OVER_ALL and left_out and not measured.failures:
            group = f"over {measured.groups} of {measured.groups + left_out} datasets"
        answer = self._undecided() if decision.status == INCONCLUSIVE else self._answer()
        return f"{opening}{f' ({group})' if group else ''}. {answer}."

    def _undecided(self) -> str:
        if problem := self.judged.measured.problem:
            return problem.capitalize()
        return f"These runs do not settle whether {self._claimed()}"

    def _claimed(self) -> str:
        """Return the statement of the claim as a clause, such as "A has a higher bleu than B"."""
        treatment, baseline, metric = self._treatment, self._baseline, self._quantity
        changes = "falls" if self.design.lower else "rises"
        if self.claim.kind == "trend" and self.claim.minus:
            return f"{self._slope} is {self._better} {self._places}"
        if self.claim.minus:
            return f"the gain of {treatment} over {baseline} is larger {self._places}"
        return {
            "superiority": f"{treatment} has a {self._better} {metric} than {baseline}",
            "equivalence": f"{treatment} and {baseline} have the same {metric}",
            "non_inferiority": f"{treatment} loses nothing that matters against {baseline}",
            "stability": f"fewer runs of {treatment} fail than of {baseline}",
            "exact": f"{treatment} and {baseline} agree in every run",
            "trend": f"{metric} {changes} with {self.claim.over}",
        }[self.claim.kind]

    def _answer(self) -> str:
        """Return the decision as a sentence."""
        effect = self.judged.measured.failures or self.judged.measured.effect
        if isinstance(effect, Rates):
            return self._answer_of_rates(effect)
        if isinstance(effect, Cases):
            return self._answer_of_cases(effect)
        within = "less" if self.judged.decision.status == SUPPORTED else "more"
        bound = f"by {within} than {self.claim.margin:g}"
        if self.claim.kind == "equivalence":
            return f"{self._treatment} and {self._baseline} differ in {self._quantity} {bound}"
        if self.claim.kind == "non_inferiority":
            worse = "higher" if self.design.lower else "lower"
            change = f"is {worse} than that of {self._baseline} {bound}"
            return f"The {self._quantity} of {self._treatment} {change}"
        return self._answer_of_trend() if self.claim.kind == "trend" else self._answer_of_mean()

    def _answer_of_mean(self) -> str:
        treatment, baseline, grade = self._treatment, self._baseline, self.judged.decision.grade
        if grade == SMALL and self.claim.margin:
            more = f" more {self._places}" if self.claim.minus else ""
            bound = f"by {self.claim.margin:g}{more}"
            return f"{treatment} does not improve {self._quantity} over {baseline} {bound}"
        size = number(abs(self.judged.measured.effect.effect), self._error)
        if self.claim.minus:
            more = "larger" if self.judged.measured.effect.effect > 0 else "smaller"
            return f"The gain of {treatment} over {baseline} is {more} {self._places}, by {size}"
        enough = ", enough to matter" if grade == LARGE and self.claim.margin else ""
        return f"{treatment} has a {self._way} {self._quantity} than {baseline}, by {size}{enough}"

    def _answer_of_trend(self) -> str:
        if self.judged.decision.grade == SMALL and self.claim.margin:
            better = "falls" if self.design.lower else "rises"
            return (
                f"{self._metric} {better} with {self.claim.over} by less than {self.claim.margin:g}"
            )
        if self.claim.minus:
            return f"{self._slope} is {self._way} {self._places}"
        verb = "rises" if self._way == "higher" else "falls"
        return f"{self._metric} {verb} with {self.claim.over}"

    def _answer_of_rates(self, rates: Rates) -> str:
        if self.judged.decision.grade == SMALL:
            return f"{self._treatment} does not lower the rate of failed runs by the margin"
        fewer = "Fewer" if rates.effect > 0 else "More"
        return f"{fewer} runs of {self._treatment} fail than of {self._baseline}"

    def _answer_of_cases(self, cases: Cases) -> str:
        margin, tolerance = self.claim.margin, self.claim.tolerance
        holds, breaks = f"agree within {tolerance:g}", f"differ by more than {tolerance:g}"
        if margin:
            holds, breaks = f"differ by at least {margin:g}", f"differ by less than {margin:g}"
        units, count = "pairs" if self.claim.target is None else "runs", len(cases.counted)
        units = f"complete {units}" if self.judged.measured.incomplete else units
        where = f"{breaks} in {cases.broken} of" if cases.broken else f"{holds} in all"
        return f"{self._treatment} and {self._baseline} {where} {count} {units}"

    @property
    def evidence(self) -> str:
        """Estimate, interval, runs and margin in one line."""
        measured, effect = self.judged.measured, self.judged.measured.effect
        if measured.failures:
            return f"Without a value: {self._failed()}; this difference decides."
        if math.isnan(effect.effect):
            return f"No estimate: {measured.problem}."
        if isinstance(effect, Cases):
            which = "Smallest" if self.claim.margin else "Largest"
            left_out = (
                measured.incomplete and f"incomplete pairs are left out: {measured.incomplete}"
            )
            counted = left_out or "every case counts"
            return f"{which} difference of {self._metric}: {effect.effect:.4g}; {counted}."
        if isinstance(effect, Rates):
            return (
                f"Failed: {effect.second} of {effect.of_second} runs of {self._treatment}, "
                f"{effect.first} of {effect.of_first} of {self._baseline}; difference "
                f"{effect.effect:+.3f} ({self._interval(1.0, 0.01)}, exact)."
            )
        return f"{self._estimate(effect)} {self._margin()}".strip()

    def _estimate(self, effect: MeanDifference) -> str:
        value = number(self.design.sign * effect.effect, self._error)
        value = value if value.startswith("-") else f"+{value}"
        beside = f"({self._interval(self.design.sign, self._error)}; {self._counted(effect)})"
        unit = "" if is_power_law(self.claim) else f" {self._metric}"
        return f"{self._what}: {value}{unit} {beside}."

    @property
    def _what(self) -> str:
        minus, claim = f"{self._treatment} minus {self._baseline}", self.claim
        if claim.kind == "trend":
            if is_power_law(claim):
                start = "Difference of the exponents" if claim.minus else "Exponent"
                return f"{start} of {self._metric} over {claim.over}"
            slope = "Difference of slopes" if claim.minus else "Slope"
            return f"{slope} {PER[claim.scale]} {claim.over}"
        return f"Difference of differences, {minus}" if claim.minus else minus

    def _counted(self, effect: MeanDifference) -> str:
        count, missing = effect.counts[0], self.judged.measured.incomplete
        counted = f"{count} of {count + missing}" if missing else f"{count}"
        if self.judged.measured.group == OVER_ALL:
            return f"{counted} datasets"
        if self.design.pair and len(effect.counts) == 1 and self.claim.target is None:
            return f"{counted} pairs, {effect.method}"
        return f"{listed(list(effect.counts))} runs, {effect.method}"

    def _margin(self) -> str:
        """Return a sentence on the margin: its meaning, or how many runs would decide an undecided
        claim.

        If the correction for several claims changes the answer, the sentence states the uncorrected
        answer.
        """
        margin, open_ = self.claim.margin, self.judged.decision.status == INCONCLUSIVE
        alone = self.judged.alone.status
        if alone != self.judged.decision.status:
            return f"Without the correction for several claims it would be {alone}."
        if open_ and (plan := self.judged.plans.get(SUPPORTED)):
            needed = f"About {plan.seeds:,}" if plan.seeds else "More than 1,000"
            unit = "pairs" if self.design.pair else "runs per arm"
            if self.judged.measured.group == OVER_ALL:
                unit = "datasets"
            return f"{needed} {unit} would settle it if the true difference were {plan.effect:g}."
        if not margin:
            return self._other_margins()
        if KINDS[self.claim.kind].needs_margin:
            return f"Differences within {margin:g} do not matter."
        what = "Slopes steeper than" if self.claim.kind == "trend" else "Differences of more than"
        return f"{what} {margin:g} count as large enough to matter."

    def _other_margins(self) -> str:
        """Return the margins at which the answer would change, for a claim without a margin."""
        phrases = [
            f"{'above' if turn.decision.grade == SMALL else 'up to'} "
            f"{number(turn.margin, self._error)} it would be "
            f"{SMALL if turn.decision.grade == SMALL else LARGE}"
            for turn in self.judged.turns
            if turn.margin and turn.decision.grade in (SMALL, DIRECTION)
        ]
        return f"With a margin {', '.join(phrases)}." if phrases else ""

    def _interval(self, sign: float, error: float) -> str:
        level = level_of(self.claim)
        ends = sorted(sign * end for end in self.judged.measured.effect.interval(level))
        if not all(map(math.isfinite, ends)):
            return "no interval"
        return f"{100 * level:.3g} % CI {number(ends[0], error)} to {number(ends[1], error)}"

    def details(self, claims: int) -> Iterator[str]:
        """Yield sentences on the statistical details of a claim: the decision rule, the tests, runs
        that were left out, and margins at which the answer would change.

        Args:
            claims: number of claims that are tested together, for which Holm's correction is made.
        """
        claim, measured, effect = self.claim, self.judged.measured, self.judged.measured.effect
        kind = KINDS[claim.kind]
        if isinstance(effect, Cases):
            yield (
                "Rule (exact): supported when every case is within the tolerance (with a margin: "
                "that far away), refuted by a single other one; a run without a value is one. "
                "Nothing is said of other runs."
            )
        else:
            yield f"Rule ({claim.kind.replace('_', '-')}, alpha {claim.alpha:g}): {kind.rule}."
            yield from self._tests(effect, claims)
        if any(arm.without for arm in measured.arms) or measured.failures or measured.shared:
            yield self._without()
        if measured.incomplete and not measured.failures:
            over_all = measured.group == OVER_ALL
            units = "datasets without an estimate" if over_all else "incomplete pairs"
            yield f"{measured.incomplete} {units} do not enter."
        if measured.spread is not None:
            yield (
                f"Between the {measured.groups} datasets the true difference has a standard "
                f"deviation of about {measured.spread:.4g}; the verdict is about datasets like "
                "these."
            )
        if self.judged.turns:
            by = "tolerance" if claim.kind == "exact" and not claim.margin else "margin"
            yield f"By {by}, without correction: {listed([*map(_threshold, self.judged.turns)])}."
        if self.judged.detectable is not None:
            what = "a margin" if kind.needs_margin else "a true difference"
            yield f"These runs show {what} of {self.judged.detectable:.4g} with 80 % power."

    def _tests(self, effect: MeanDifference | Rates, claims: int) -> Iterator[str]:
        if isinstance(effect, MeanDifference) and effect.parts:
            df = "infinite" if math.isinf(effect.df) else f"{effect.df:.4g}"
            yield (
                f"Method: {effect.method}; standard error {effect.error:.4g}, degrees of freedom "
                f"{df}."
            )
        yield f"One-sided p-values: {_p(self.judged.measured.p)}."
        measured = self.judged.measured
        if measured.p_textbook and self.design.corrects:
            p = _p(measured.p_textbook)
            yield f"Without the correction for skewness (test: textbook): {p}."
        elif measured.p_corrected:
            yield f"With a correction for skewness (test: corrected): {_p(measured.p_corrected)}."
        if claims > 1:
            yield (
                f"Corrected for {claims} claims (Holm), on the scale of alpha: "
                f"{_p(self.judged.p_adjusted)}; intervals are not corrected."
            )
            if self.judged.alone != self.judged.decision:
                yield f"Without the correction the verdict would be: {self.judged.alone}."

    def _without(self) -> str:
        """Return how many runs have no result, and how this affects the verdict."""
        measured, design = self.judged.measured, self.design
        learned = "" if design.floor is None else f", or learned nothing (floor {design.floor:g})"
        start = f"Without a finite {design.metric}{learned}: {self._failed()}; "
        if measured.failures or self.claim.kind == "stability":
            return f"{start}the difference of the rates decides."
        if self.claim.kind == "exact":
            return f"{start}they break the claim."
        if design.missing == LEAVE_OUT:
            return f"{start}they are left out as the study says."
        rest = f"{start}the verdict is about the other runs"
        if measured.shared:
            return f"{rest}, as the rates do not differ clearly; each test has half of alpha."
        if self.claim.kind == "trend" or self.claim.target is not None:
            return f"{rest}."
        return f"{rest}, as so few failures could not decide."

    def _failed(self) -> str:
        """Return how many runs of each arm have no result."""
        measured = self.judged.measured
        counts = [f"{arm.without} of {arm.runs} runs of {arm.label}" for arm in measured.arms]
        if not counts and (rates := measured.failures):  # over all datasets
            counts = [f"{rates.second} of {rates.of_second} runs of {self._treatment}"]
            counts += [f"{rates.first} of {rates.of_first} runs of {self._baseline}"]
        return listed(counts or ["some runs of the datasets"])

    @property
    def claim(self) -> Claim:
        """The claim that was judged."""
        return self.judged.measured.claim

    @property
    def _metric(self) -> str:
        name, reach = plain(self.design.metric), self.design.reach
        return name if reach is None else f"steps to {name} {reach:g}"

    @property
    def _quantity(self) -> str:
        return self._metric if self.design.reach is None else f"number of {self._metric}"

    @property
    def _treatment(self) -> str:
        name = label(self.claim.treatment)
        return "the mean of all runs" if name == ALL_RUNS else name

    @property
    def _baseline(self) -> str:
        target = self.claim.target
        return label(self.claim.baseline) if target is None else f"{target:g}"

    @property
    def _slope(self) -> str:
        what = "exponent" if is_power_law(self.claim) else "slope"
        return f"the {what} of {self._metric} over {self.claim.over}"

    @property
    def _places(self) -> str:
        """The two settings of an interaction, as the end of a comparison: "at A than at B"."""
        second = {**self.claim.where, **self.claim.minus}
        first = {key: value for key, value in self.claim.where.items() if key in self.claim.minus}
        where = f"at {label(first)}" if first else "in all runs"
        return f"{where} than at {label({key: second[key] for key in self.claim.minus})}"

    @property
    def _better(self) -> str:
        return "lower" if self.design.lower else "higher"

    @property
    def _way(self) -> str:
        """The word "lower" or "higher": how the treatment's metric differs from the baseline's."""
        better = self.judged.measured.effect.effect > 0
        return "lower" if better == self.design.lower else "higher"

    @property
    def _error(self) -> float:
        effect = self.judged.measured.effect
        return effect.error if isinstance(effect, MeanDifference) else 0.0


def level_of(claim: Claim) -> float:
    """Return the confidence level of the interval that decides a claim."""
    return 1 - (2 if SUPPORTED in KINDS[claim.kind].whole else 1) * claim.alpha


def is_power_law(claim: Claim) -> bool:
    """Return whether the effect of a claim is an exponent, which has no unit."""
    return claim.kind == "trend" and claim.scale == "log_log"


def _threshold(turn: MarginThreshold) -> str:
    start = "from 0 on" if not turn.margin else f"from {turn.margin:.4g} on"
    return f"{start} {turn.decision}"


def _p(tests: dict[str, float]) -> str:
    return ", ".join(f"{side} {p:.3g}" for side, p in tests.items())
