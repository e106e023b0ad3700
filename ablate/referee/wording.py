"""A verdict in three layers: the headline, the evidence, the details.

The headline has at most 25 words and no symbols but those of names, the evidence at most 40 words.
"""

import math
import re
from collections.abc import Iterator

from ablate.phrases import listed
from ablate.referee.decide import Judged
from ablate.referee.measure import OVER_ALL, PAIRED, label
from ablate.referee.question import Design
from ablate.stats.means import MeanDifference
from ablate.stats.rates import Rates
from ablate.verdict.decision import DIRECTION, INCONCLUSIVE, LARGE, SMALL, SUPPORTED, Turn
from ablate.verdict.kind import KINDS
from ablate.verdict.wording.layers import EVIDENCE, PER, opening_of

HEADLINE = 25  # words at most
NAME_WORDS, NAME_LETTERS = 3, 40  # of an arm or a metric


def short(name: str) -> str:
    """Return a name with at most three words and forty letters."""
    words = name.split()
    text = " ".join(words[:NAME_WORDS])
    cut = text[:NAME_LETTERS].rstrip()
    return cut + "..." if cut != " ".join(words) else cut


def plain(metric: str) -> str:
    """Return a metric's name in words, without underscores and slashes."""
    return short(re.sub(r"[_/\s.]+", " ", metric).strip())


def number(value: float, error: float = 0.0) -> str:
    """Return a number with two digits of its standard error; without one, four digits."""
    if not math.isfinite(value):
        return "nothing" if math.isnan(value) else str(value)
    if not error or not math.isfinite(error):
        return f"{value:.4g}"
    digits = 1 - math.floor(math.log10(error))
    return f"{value:,.{min(max(digits, 0), 12)}f}" if -6 < digits < 13 else f"{value:.4g}"


def headline(judged: Judged, design: Design) -> str:
    """Return the answer in one sentence for a reader who knows no statistics."""
    measured, decision = judged.measured, judged.decision
    grade = decision.grade if measured.claim.margin else decision.grade.replace(DIRECTION, "")
    opening = opening_of(measured.claim.kind, decision.status, grade)
    place = "" if not measured.group else f" ({short(measured.group)})"
    said = _undecided(judged, design) if decision.status == INCONCLUSIVE else _said(judged, design)
    return _cut(f"{opening}{place}. {said}.", HEADLINE)


def _undecided(judged: Judged, design: Design) -> str:
    measured = judged.measured
    if measured.problem:
        return measured.problem.capitalize()
    return f"These runs do not settle whether {_claimed(judged, design)}"


def _claimed(judged: Judged, design: Design) -> str:
    """The claim as half a sentence."""
    claim, metric = judged.measured.claim, plain(_metric(design))
    if claim.kind == "trend":
        return f"{metric} {_word(design, 'falls', 'rises')} with {plain(claim.over)}"
    if claim.kind == "stability":
        return f"fewer runs of {_treatment(judged)} fail than of {_baseline(judged)}"
    if claim.kind == "equivalence":
        return f"{_treatment(judged)} and {_baseline(judged)} have the same {metric}"
    if claim.kind == "non_inferiority":
        return f"{_treatment(judged)} loses nothing that matters against {_baseline(judged)}"
    better = _word(design, "lower", "higher")
    more = " more" if claim.minus else ""
    return f"{_treatment(judged)} has a{more} {better} {metric} than {_baseline(judged)}"


def _said(judged: Judged, design: Design) -> str:
    """What was decided, as a sentence."""
    failures, kind = judged.measured.failures, judged.measured.claim.kind
    if failures is not None:
        return _fail(judged, failures)
    return SAID.get(kind, _said_of_superiority)(judged, design)


def _said_of_superiority(judged: Judged, design: Design) -> str:
    claim, effect, metric = judged.measured.claim, judged.measured.effect, plain(_metric(design))
    treatment, baseline = _treatment(judged), _baseline(judged)
    if judged.decision.grade == SMALL and claim.margin:
        return f"{treatment} does not improve {metric} over {baseline} by {claim.margin:g}"
    size = number(abs(effect.effect), _error(judged))
    if claim.minus:
        more = "larger" if effect.effect > 0 else "smaller"
        return f"The gain of {treatment} over {baseline} is {more} here, by {size}"
    enough = ", enough to matter" if judged.decision.grade == LARGE else ""
    return f"{treatment} has a {_way(judged, design)} {metric} than {baseline}, by {size}{enough}"


def _said_of_trend(judged: Judged, design: Design) -> str:
    claim, metric = judged.measured.claim, plain(_metric(design))
    if judged.decision.grade == SMALL and claim.margin:
        return f"The slope of {metric} over {plain(claim.over)} is below {claim.margin:g}"
    verb = "rises" if _way(judged, design) == "higher" else "falls"
    return f"{metric} {verb} with {plain(claim.over)}"


def _said_of_stability(judged: Judged, _: Design) -> str:
    effect = judged.measured.effect
    assert isinstance(effect, Rates)
    if judged.decision.grade == SMALL:
        return f"{_treatment(judged)} does not lower the rate of failed runs by the margin"
    return _fail(judged, effect)


def _said_of_equivalence(judged: Judged, design: Design) -> str:
    within = "less" if judged.decision.status == SUPPORTED else "more"
    arms, metric = f"{_treatment(judged)} and {_baseline(judged)}", plain(_metric(design))
    return f"{arms} differ in {metric} by {within} than {judged.measured.claim.margin:g}"


def _said_of_non_inferiority(judged: Judged, design: Design) -> str:
    within = "less" if judged.decision.status == SUPPORTED else "more"
    loss = f"{within} than {judged.measured.claim.margin:g} of {plain(_metric(design))}"
    return f"{_treatment(judged)} loses {loss} against {_baseline(judged)}"


def _fail(judged: Judged, rates: Rates) -> str:
    fewer = "Fewer" if rates.effect > 0 else "More"
    return f"{fewer} runs of {_treatment(judged)} fail than of {_baseline(judged)}"


def _way(judged: Judged, design: Design) -> str:
    """Whether the metric of the treatment is lower or higher."""
    better = judged.measured.effect.effect > 0
    return "higher" if better == (design.better == "higher") else "lower"


SAID = {
    "trend": _said_of_trend,
    "stability": _said_of_stability,
    "equivalence": _said_of_equivalence,
    "non_inferiority": _said_of_non_inferiority,
}


def evidence(judged: Judged, design: Design) -> str:
    """Return estimate, interval, runs and margin in one line."""
    measured, claim = judged.measured, judged.measured.claim
    if measured.failures:
        counts = [f"{a.without} of {a.runs} runs of {short(a.label)}" for a in measured.arms]
        return _cut(f"Without a value: {listed(counts)}; this difference decides.", EVIDENCE)
    effect = measured.effect
    if math.isnan(effect.effect):
        return _cut(f"No estimate: {measured.problem}.", EVIDENCE)
    if isinstance(effect, Rates):
        difference, ends = effect.effect, effect.interval(1 - claim.alpha)
        said = (
            f"Failed: {effect.second} of {effect.of_second} runs of {_treatment(judged)}, "
            f"{effect.first} of {effect.of_first} of {_baseline(judged)}; "
            f"difference {difference:+.3f} ({_span(ends, 1 - claim.alpha, 0.01)}, exact)."
        )
        return _cut(said, EVIDENCE)
    return _cut(f"{_estimate(judged, design)} {_margin(judged, design)}".strip(), EVIDENCE)


def _estimate(judged: Judged, design: Design) -> str:
    measured, effect = judged.measured, judged.measured.effect
    error, sign = _error(judged), _sign(design)
    level = 1 - measured.claim.alpha
    ends = sorted(sign * end for end in effect.interval(level))
    value = number(sign * effect.effect, error)
    value = value if value.startswith("-") else f"+{value}"
    span = _span((ends[0], ends[1]), level, error)
    return f"{_what(judged)}: {value} {plain(_metric(design))} ({span}; {_counted(judged)})."


def _what(judged: Judged) -> str:
    claim = judged.measured.claim
    if claim.kind == "trend":
        return f"Slope {PER[claim.scale]} {short(claim.over)}"
    if claim.minus:
        return f"Difference of differences, {_treatment(judged)} minus {_baseline(judged)}"
    return f"{_treatment(judged)} minus {_baseline(judged)}"


def _counted(judged: Judged) -> str:
    measured, effect = judged.measured, judged.measured.effect
    assert isinstance(effect, MeanDifference)
    if measured.group == OVER_ALL:
        return f"{measured.groups} datasets"
    if effect.method == PAIRED:
        return f"{effect.counts[0]} pairs"
    return f"{listed(list(effect.counts))} runs, {effect.method}"


def _margin(judged: Judged, design: Design) -> str:
    """What the margin means, or what would settle an open claim."""
    claim = judged.measured.claim
    if judged.decision.status == INCONCLUSIVE and (plan := judged.plans.get(SUPPORTED)):
        needed = f"About {plan.seeds:,}" if plan.seeds else "More than 1,000"
        unit = "pairs" if design.pair else "runs per arm"
        return f"{needed} {unit} would settle it if the true difference were {plan.effect:g}."
    if not claim.margin:
        return _other_margins(judged)
    return f"Differences above {claim.margin:g} count as large enough to matter."


def _other_margins(judged: Judged) -> str:
    """From which margin on the answer would be another; for a claim that names none."""
    error, turns = _error(judged), judged.turns
    ends = [(turn.decision, number(turn.margin, error)) for turn in turns if turn.margin]
    said = [
        f"above {start} refuted as too small" if decision.grade == SMALL else f"up to {start} large"
        for decision, start in ends
        if decision.grade in (SMALL, DIRECTION)
    ]
    return f"Were a margin named: {', '.join(said)}." if said else ""


def _span(ends: tuple[float, float], level: float, error: float) -> str:
    if not all(map(math.isfinite, ends)):
        return "no interval"
    return f"{level:.0%} CI {number(ends[0], error)} to {number(ends[1], error)}".replace("%", " %")


def details(judged: Judged, design: Design, claims: int) -> Iterator[str]:
    """Yield what a reviewer asks for, a sentence each."""
    measured, claim, effect = judged.measured, judged.measured.claim, judged.measured.effect
    kind = KINDS[claim.kind]
    yield f"Rule ({claim.kind.replace('_', '-')}, alpha {claim.alpha:g}): {kind.rule}."
    if isinstance(effect, MeanDifference) and effect.parts:
        df = "infinite" if math.isinf(effect.df) else f"{effect.df:.4g}"
        yield (
            f"Method: {effect.method}; standard error {effect.error:.4g}, degrees of freedom {df}."
        )
    tests = ", ".join(f"{name} {p:.3g}" for name, p in measured.p.items())
    yield f"One-sided p-values: {tests}."
    if claims > 1:
        adjusted = ", ".join(f"{name} {p:.3g}" for name, p in judged.p_adjusted.items())
        yield (
            f"Corrected for {claims} claims (Holm), on the scale of alpha: {adjusted}; intervals "
            "are not corrected."
        )
        if judged.alone != judged.decision:
            yield f"Without the correction the verdict would be: {judged.alone}."
    if any(arm.without for arm in measured.arms):
        yield _without(judged, design)
    if measured.incomplete:
        yield f"{measured.incomplete} incomplete pairs do not enter."
    if measured.spread is not None:
        yield (
            f"Between the {measured.groups} datasets the true difference has a standard deviation "
            f"of about {measured.spread:.4g}; the verdict is about datasets like these."
        )
    if judged.turns:
        yield f"By margin, without correction: {listed([*map(_turn, judged.turns)])}."
    if judged.detectable is not None:
        what = "a margin" if kind.needs_margin else "a true difference"
        yield f"These runs show {what} of {judged.detectable:.4g} with 80 % power."


def _without(judged: Judged, design: Design) -> str:
    arms = judged.measured.arms
    counts = listed([f"{arm.without} of {arm.runs} runs of {arm.label}" for arm in arms])
    if judged.measured.failures:
        return f"Without a finite {design.metric}: {counts}; the difference of the rates decides."
    rest = "the means are those of the other runs"
    if design.missing == "leave_out":
        return f"Without a finite {design.metric}: {counts}; they are left out as the study says."
    return (
        f"Without a finite {design.metric}: {counts}; {rest}, the rates do not differ clearly, and "
        "each of the two tests has half of alpha."
    )


def _turn(turn: Turn) -> str:
    start = "from 0 on" if not turn.margin else f"from {turn.margin:.4g} on"
    return f"{start} {turn.decision}"


def _metric(design: Design) -> str:
    if design.reach is None:
        return design.metric
    return f"steps to {design.metric} {design.reach:g}"


def _treatment(judged: Judged) -> str:
    arms = judged.measured.arms
    return short(arms[0].label) if arms else short(_named(judged, "treatment"))


def _baseline(judged: Judged) -> str:
    claim = judged.measured.claim
    return f"{claim.target:g}" if claim.target is not None else short(_named(judged, "baseline"))


def _named(judged: Judged, key: str) -> str:
    return label(getattr(judged.measured.claim, key))


def _word(design: Design, lower: str, higher: str) -> str:
    return lower if design.better == "lower" else higher


def _sign(design: Design) -> float:
    return -1.0 if design.better == "lower" else 1.0


def _error(judged: Judged) -> float:
    effect = judged.measured.effect
    return effect.error if isinstance(effect, MeanDifference) else 0.0


def _cut(text: str, words: int) -> str:
    """Keep a sentence within its number of words, whatever names are in it."""
    parts = text.split()
    return text if len(parts) <= words else " ".join(parts[: words - 1]) + " ..."
