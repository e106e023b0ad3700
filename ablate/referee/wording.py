"""Write a verdict on runs that this package did not make, in three layers: the headline, the
evidence, the details.

The headline has at most 25 words and the evidence at most 40, not counting the names of arms and
columns, which are never shortened.
"""

import math
import re
from collections.abc import Iterator

from ablate.phrases import listed
from ablate.referee.decide import Judged
from ablate.referee.question import LEAVE_OUT, Claim, Design
from ablate.referee.runs import ALL_RUNS, label
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
from ablate.verdict.exact import Exact
from ablate.verdict.kind import KINDS
from ablate.words.opening import opening_of

PER = {"linear": "per unit of", "log": "per doubling of"}
CHANGES = {"lower": "falls", "higher": "rises"}  # verbs for a metric that gets lower or higher


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


class Wording:
    """The sentences of a verdict on one claim: the headline, the evidence and the details.

    Args:
        judged: the decision and its numbers.
        design: how the table of runs is read.
        claims: number of claims that are tested together, for which Holm's correction is made.
    """

    def __init__(self, judged: Judged, design: Design, claims: int) -> None:
        self.judged, self.design, self.claims = judged, design, claims
        self.claim, self.effect = judged.claim, judged.effect
        self.status, self.grade = judged.decision.status, judged.decision.grade
        name, reach, claim = plain(design.metric), design.reach, self.claim
        self.metric = name if reach is None else f"steps to {name} {reach:g}"
        self.quantity = name if reach is None else f"number of {self.metric}"
        arm, target = label(claim.treatment), claim.target
        self.treatment = "the mean of all runs" if arm == ALL_RUNS else arm
        self.baseline = label(claim.baseline) if target is None else f"{target:g}"
        self.better, self.worse = ("lower", "higher") if design.lower else ("higher", "lower")
        # how the treatment's metric differs from the baseline's
        self.way = self.better if self.effect.effect > 0 else self.worse
        self.error = self.effect.error if isinstance(self.effect, MeanDifference) else 0.0

    @property
    def headline(self) -> str:
        """The answer in one sentence, for a reader who knows no statistics."""
        grade = self.grade if self.claim.margin else self.grade.replace(DIRECTION, "")
        opening = opening_of(self.claim.kind, self.status, grade)
        judged, answer = self.judged, self._answer()
        if self.status == INCONCLUSIVE:
            unsettled = f"These runs do not settle whether {self._claimed()}"
            answer = judged.problem.capitalize() or unsettled
        return f"{opening}{f' ({judged.group})' if judged.group else ''}. {answer}."

    def _claimed(self) -> str:
        """Return the statement of the claim as a clause, such as "A has a higher bleu than B"."""
        treatment, baseline, metric = self.treatment, self.baseline, self.quantity
        if self.claim.kind == "trend" and self.claim.minus:
            return f"{self._slope} is {self.better} {self._places}"
        if self.claim.minus:
            return f"the gain of {treatment} over {baseline} is larger {self._places}"
        return {
            "superiority": f"{treatment} has a {self.better} {metric} than {baseline}",
            "equivalence": f"{treatment} and {baseline} have the same {metric}",
            "non_inferiority": f"{treatment} loses nothing that matters against {baseline}",
            "stability": f"fewer runs of {treatment} fail than of {baseline}",
            "exact": f"{treatment} and {baseline} agree in every run",
            "trend": f"{metric} {CHANGES[self.better]} with {self.claim.over}",
        }[self.claim.kind]

    def _answer(self) -> str:
        """Return the decision as a sentence."""
        effect = self.judged.failures or self.effect
        if isinstance(effect, Rates):
            return self._answer_of_rates(effect)
        if isinstance(effect, Exact):
            return self._answer_of_cases(effect)
        within = "less" if self.status == SUPPORTED else "more"
        bound = f"by {within} than {self.claim.margin:g}"
        if self.claim.kind == "equivalence":
            return f"{self.treatment} and {self.baseline} differ in {self.quantity} {bound}"
        if self.claim.kind == "non_inferiority":
            change = f"is {self.worse} than that of {self.baseline} {bound}"
            return f"The {self.quantity} of {self.treatment} {change}"
        return self._answer_of_trend() if self.claim.kind == "trend" else self._answer_of_mean()

    def _answer_of_mean(self) -> str:
        treatment, baseline, grade = self.treatment, self.baseline, self.grade
        if grade == SMALL and self.claim.margin:
            more = f" more {self._places}" if self.claim.minus else ""
            bound = f"by {self.claim.margin:g}{more}"
            return f"{treatment} does not improve {self.quantity} over {baseline} {bound}"
        size = number(abs(self.effect.effect), self.error)
        if self.claim.minus:
            more = "larger" if self.effect.effect > 0 else "smaller"
            return f"The gain of {treatment} over {baseline} is {more} {self._places}, by {size}"
        enough = ", enough to matter" if grade == LARGE and self.claim.margin else ""
        return f"{treatment} has a {self.way} {self.quantity} than {baseline}, by {size}{enough}"

    def _answer_of_trend(self) -> str:
        change = f"{CHANGES[self.way]} with {self.claim.over}"
        if self.grade == SMALL and self.claim.margin:
            change = f"{CHANGES[self.better]} with {self.claim.over}"
            return f"{self.metric} {change} by less than {self.claim.margin:g}"
        if self.claim.minus:
            return f"{self._slope} is {self.way} {self._places}"
        return f"{self.metric} {change}"

    def _answer_of_rates(self, rates: Rates) -> str:
        if self.grade == SMALL:
            return f"{self.treatment} does not lower the rate of failed runs by the margin"
        fewer = "Fewer" if rates.effect > 0 else "More"
        return f"{fewer} runs of {self.treatment} fail than of {self.baseline}"

    def _answer_of_cases(self, cases: Exact) -> str:
        margin, tolerance = self.claim.margin, self.claim.tolerance
        holds, breaks = f"agree within {tolerance:g}", f"differ by more than {tolerance:g}"
        if margin:
            holds, breaks = f"differ by at least {margin:g}", f"differ by less than {margin:g}"
        units, count = "pairs" if self.claim.target is None else "runs", len(cases.counted)
        units = f"complete {units}" if self.judged.incomplete else units
        where = f"{breaks} in {cases.broken} of" if cases.broken else f"{holds} in all"
        return f"{self.treatment} and {self.baseline} {where} {count} {units}"

    @property
    def evidence(self) -> str:
        """Estimate, interval, runs and margin in one line."""
        judged, effect = self.judged, self.effect
        if judged.failures:
            return f"Without a value: {self._failed()}; this difference decides."
        if math.isnan(effect.effect):
            return f"No estimate: {judged.problem}."
        if isinstance(effect, Exact):
            which = "Smallest" if self.claim.margin else "Largest"
            left_out = f"incomplete pairs are left out: {judged.incomplete}"
            counted = left_out if judged.incomplete else "every case counts"
            return f"{which} difference of {self.metric}: {effect.effect:.4g}; {counted}."
        if isinstance(effect, Rates):
            return (
                f"Failed: {effect.second} of {effect.of_second} runs of {self.treatment}, "
                f"{effect.first} of {effect.of_first} of {self.baseline}; difference "
                f"{effect.effect:+.3f} ({self._interval(1.0, 0.01)}, exact)."
            )
        return f"{self._estimate(effect)} {self._margin()}".strip()

    def _estimate(self, effect: MeanDifference) -> str:
        value = number(self.design.sign * effect.effect, self.error)
        value = value if value.startswith("-") else f"+{value}"
        beside = f"({self._interval(self.design.sign, self.error)}; {self._counted(effect)})"
        unit = "" if is_power_law(self.claim) else f" {self.metric}"
        return f"{self._difference()}: {value}{unit} {beside}."

    def _difference(self) -> str:
        """Return the name of the estimated quantity."""
        minus, claim = f"{self.treatment} minus {self.baseline}", self.claim
        if is_power_law(claim):
            start = "Difference of the exponents" if claim.minus else "Exponent"
            return f"{start} of {self.metric} over {claim.over}"
        if claim.kind == "trend":
            slope = "Difference of slopes" if claim.minus else "Slope"
            return f"{slope} {PER[claim.scale]} {claim.over}"
        return f"Difference of differences, {minus}" if claim.minus else minus

    def _counted(self, effect: MeanDifference) -> str:
        count, missing = effect.counts[0], self.judged.incomplete
        counted = f"{count} of {count + missing}" if missing else f"{count}"
        if self.design.pair and len(effect.counts) == 1 and self.claim.target is None:
            return f"{counted} pairs, {effect.method}"
        return f"{listed(list(effect.counts))} runs, {effect.method}"

    def _margin(self) -> str:
        """Return a sentence on the margin: its meaning, or how many runs would decide an undecided
        claim.

        If the correction for several claims changes the answer, the sentence states the uncorrected
        answer.
        """
        margin, alone = self.claim.margin, self.judged.alone.status
        if alone != self.status:
            return f"Without the correction for several claims it would be {alone}."
        if self.status == INCONCLUSIVE and (plan := self.judged.plans.get(SUPPORTED)):
            needed = f"About {plan.seeds:,}" if plan.seeds else "More than 1,000"
            unit = "pairs" if self.design.pair else "runs per arm"
            return f"{needed} {unit} would settle it if the true difference were {plan.effect:g}."
        if not margin:
            return self._other_margins()
        if KINDS[self.claim.kind].needs_margin:
            return f"Differences within {margin:g} do not matter."
        what = "Slopes steeper than" if self.claim.kind == "trend" else "Differences of more than"
        return f"{what} {margin:g} count as large enough to matter."

    def _other_margins(self) -> str:
        """Return the margins at which the answer would change, for a claim without a margin."""
        small = [turn for turn in self.judged.turns if turn.decision.grade == SMALL]
        phrases = [
            f"{'above' if turn in small else 'up to'} {number(turn.margin, self.error)} "
            f"it would be {SMALL if turn in small else LARGE}"
            for turn in self.judged.turns
            if turn.margin and turn.decision.grade in (SMALL, DIRECTION)
        ]
        return f"With a margin {', '.join(phrases)}." if phrases else ""

    def _interval(self, sign: float, error: float) -> str:
        level = level_of(self.claim)
        ends = sorted(sign * end for end in self.effect.interval(level))
        if not all(map(math.isfinite, ends)):
            return "no interval"
        return f"{100 * level:.3g} % CI {number(ends[0], error)} to {number(ends[1], error)}"

    @property
    def details(self) -> list[str]:
        """Sentences on the statistical details of a claim: the decision rule, the tests, runs that
        were left out, and margins at which the answer would change.
        """
        return [*self._details()]

    def _details(self) -> Iterator[str]:
        claim, judged, effect = self.claim, self.judged, self.effect
        kind = KINDS[claim.kind]
        if isinstance(effect, Exact):
            yield (
                "Rule (exact): supported when every case is within the tolerance (with a margin: "
                "that far away), refuted by a single other one; a run without a value is one. "
                "Nothing is said of other runs."
            )
        else:
            yield f"Rule ({claim.kind.replace('_', '-')}, alpha {claim.alpha:g}): {kind.rule}."
            yield from self._tests(effect)
        if any(arm.without for arm in judged.arms) or judged.failures or judged.shared:
            yield self._without()
        if judged.incomplete and not judged.failures:
            yield f"{judged.incomplete} incomplete pairs do not enter."
        if self.judged.turns:
            by = "tolerance" if claim.kind == "exact" and not claim.margin else "margin"
            yield f"By {by}, without correction: {listed([*map(_threshold, self.judged.turns)])}."
        if self.judged.detectable is not None:
            what = "a margin" if kind.needs_margin else "a true difference"
            yield f"These runs show {what} of {self.judged.detectable:.4g} with 80 % power."

    def _tests(self, effect: MeanDifference | Rates) -> Iterator[str]:
        if isinstance(effect, MeanDifference) and effect.parts:
            df = "infinite" if math.isinf(effect.df) else f"{effect.df:.4g}"
            yield (
                f"Method: {effect.method}; standard error {effect.error:.4g}, degrees of freedom "
                f"{df}."
            )
        judged = self.judged
        yield f"One-sided p-values: {_p(judged.p)}."
        if judged.p_textbook and self.design.corrects:
            p = _p(judged.p_textbook)
            yield f"Without the correction for skewness (test: textbook): {p}."
        elif judged.p_corrected:
            yield f"With a correction for skewness (test: corrected): {_p(judged.p_corrected)}."
        if self.claims > 1:
            yield (
                f"Corrected for {self.claims} claims (Holm), on the scale of alpha: "
                f"{_p(self.judged.p_adjusted)}; intervals are not corrected."
            )
            if self.judged.alone != self.judged.decision:
                yield f"Without the correction the verdict would be: {self.judged.alone}."

    def _without(self) -> str:
        """Return how many runs have no result, and how this affects the verdict."""
        judged, design = self.judged, self.design
        learned = "" if design.floor is None else f", or learned nothing (floor {design.floor:g})"
        start = f"Without a finite {design.metric}{learned}: {self._failed()}; "
        if judged.failures or self.claim.kind == "stability":
            return f"{start}the difference of the rates decides."
        if self.claim.kind == "exact":
            return f"{start}they break the claim."
        if design.missing == LEAVE_OUT:
            return f"{start}they are left out as the study says."
        rest = f"{start}the verdict is about the other runs"
        if judged.shared:
            return f"{rest}, as the rates do not differ clearly; each test has half of alpha."
        if self.claim.kind == "trend" or self.claim.target is not None:
            return f"{rest}."
        return f"{rest}, as so few failures could not decide."

    def _failed(self) -> str:
        """Return how many runs of each arm have no result."""
        judged = self.judged
        counts = [f"{arm.without} of {arm.runs} runs of {arm.label}" for arm in judged.arms]
        return listed(counts)

    @property
    def _slope(self) -> str:
        what = "exponent" if is_power_law(self.claim) else "slope"
        return f"the {what} of {self.metric} over {self.claim.over}"

    @property
    def _places(self) -> str:
        """The two settings of an interaction, as the end of a comparison: "at A than at B"."""
        second = {**self.claim.where, **self.claim.minus}
        first = {key: value for key, value in self.claim.where.items() if key in self.claim.minus}
        where = f"at {label(first)}" if first else "in all runs"
        return f"{where} than at {label({key: second[key] for key in self.claim.minus})}"


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
