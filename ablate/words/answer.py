"""Write the headline and the line of evidence of a claim, and the limits of a verdict.

The headline is for a reader who knows no statistics: the answer, and the claim. The evidence has
the estimate, its interval, the runs and the margin. An effect is treatment minus baseline, also if
lower is better.
"""

from collections.abc import Callable
from typing import Any, cast

from ablate.config.labels import MEASURED, factor_label
from ablate.config.study import Levels, Question
from ablate.evidence.outcome import CHANGED
from ablate.evidence.registration import shared_levels
from ablate.metric import Metric, metric_in_words
from ablate.phrases import counted, deviation, in_sentence, listed, percent
from ablate.stats import above
from ablate.verdict.stored import Short
from ablate.verdict.types import (
    DIRECTION,
    INCONCLUSIVE,
    OPPOSITE,
    SMALL,
    SUPPORTED,
    Answer,
    Entry,
    Verdict,
)
from ablate.words.reasons import failures, sentence

OPENINGS = {  # by verdict and grade; by kind and verdict, where a kind has its own words
    "supported": "Supported",
    "supported, large enough to matter": "Supported",
    "supported, direction only": "Supported, but maybe small",
    "refuted": "Refuted",
    "refuted, too small to matter": "Refuted: too small to matter",
    "refuted, the other way round": "Refuted: the runs show the opposite of this claim",
    "undecided": "Undecided",
    "equivalence supported": "Supported: no difference that matters",
    "equivalence refuted": "Refuted: the difference is larger than the claim allows",
    "non_inferiority supported": "Supported: not worse by an amount that matters",
    "non_inferiority refuted": "Refuted: worse by more than the claim allows",
}
NEITHER = ": these runs neither support nor refute this claim"  # else it reads like a result
STATEMENTS = {  # of claims about a table of runs
    "superiority": "{metric} is {better} with {treatment} than with {baseline}",
    "equivalence": "{treatment} and {baseline} have the same {metric}",
    "non_inferiority": "{treatment} loses nothing that matters against {baseline}",
    "stability": "Fewer runs of {treatment} fail than of {baseline}",
    "exact": "{treatment} and {baseline} agree in every run",
    "trend": "{metric} gets {better} with {over}",
}
STRONGER = ", and more so with {here} than with {there}"  # of an interaction
# what an effect is about, by the scale of a trend; "" for the difference of two arms
SUBJECTS = {
    "": "{arms}",
    "linear": "per unit of {over}",
    "log": "per doubling of {over}",
    "log_log": "exponent of {metric} over {over}",
}
PLACES = " the effect with {here} minus that with {there} is"  # of an interaction
EFFECT = "{compared} {change} ({interval}; {runs}){beside}."
PREDICTED = ", where {gain} ± {error} was predicted"
SUBTRACTED = ", less the predicted {gain} ± {error}"  # from an effect that should equal it
RATES = "{subject}{setting}: {rates} runs {failed}."
MISSING = "no {pair} has a value of {metric} in every arm."
OPEN = "The answer is left open, since {reason}."
MATTERS = {  # which differences matter, by kind of claim; "" for all other kinds
    "equivalence": "Differences within {bound} do not matter.",
    "non_inferiority": "Differences within {bound} do not matter.",
    "trend": "Slopes steeper than {bound} count as large enough to matter.",
    "": "Differences of more than {bound} count as large enough to matter.",
}
HOLM = "After the correction for several claims (Holm), {open} is uncertain."
LEFT_OPEN = {DIRECTION: "the size", SMALL: "the direction", "": "the answer"}  # by grade
SEEDS = "About {seeds:,} {unit} would settle it if the true {effect} is {size} (assumed)."
# the unit of a planned number of runs, by the design of a table; "seeds" without one
UNITS = {"paired": "pairs", "unpaired": "runs per arm", "one sample": "runs"}
FAILURES = {True: "These runs are too few to decide.", False: "These rates decide the claim."}
# of exact claims; a case is a run, or a pair of runs
UNCOUNTED = "{measure}: of {of:,} cases, none was measured and changed by the deliberate fault."
MEAN = "{measure}: {value} on average ({interval}; {seeds}; {limit})."
WORST = "{measure}: {value} in the worst of {cases}, {broken} of which break the limit ({limit})."
LIMITS = {True: "at least {limit:g} is needed", False: "at most {limit:g} is allowed"}
DRAWS = "{draws:,} random draws each; "
FAULT = "A deliberate fault, {fault}, gave at least {value}."
FAILS = "The check can fail: with {arm}, the same value is {value} away from 0."
SHORT = 3  # most words of a metric's name that is repeated after the margin
EXPONENT = Metric("", "", 3)  # the unit of a trend on a log-log scale


def with_words(verdict: Verdict) -> Verdict:
    """Return a verdict with the headline and the evidence of each claim, for readers of the file.

    If the runs were evaluated after two numbers of training steps, the result after the short
    number (key `short`) gets these texts, too.
    """

    def with_texts(claim: Entry, answer: Any) -> Any:
        headline = f"{opening(claim, answer)}. {claim['statement']}"
        return {**answer, "headline": headline, "evidence": evidence_line(claim, answer)}

    claims = [with_texts(claim, claim) for claim in verdict["claims"]]
    for claim in (claim for claim in claims if "short" in claim):
        claim["short"] = with_texts(claim, claim["short"])
    return {**verdict, "claims": claims}


def opening(claim: Question, answer: Answer | Short) -> str:
    """Return the answer to a claim as it stands before the statement of the claim."""
    return short_answer(claim, answer) + NEITHER * (answer["verdict"] == INCONCLUSIVE)


def short_answer(claim: Question, answer: Answer | Short) -> str:
    """Return the answer to a claim in a few words, such as "Refuted: too small to matter".

    Two cases get a wording that differs from the grade. An effect in the opposite direction whose
    interval lies within the margin is called too small to matter. A claim refuted as too small
    reads "if anything, the opposite of this claim" if the estimate is below minus the margin, or if
    the whole interval is below 0. Without a margin, every effect counts, and none is "maybe small".
    """
    grade, ends, margin = answer["grade"], answer["interval"], claim["margin"]
    opposite = ends is not None and (above(-margin, answer["effect"] or 0.0) or ends[1] < 0)
    if grade == SMALL and opposite:
        return "Refuted: if anything, the opposite of this claim"
    if grade == OPPOSITE and ends is not None and above(ends[0], -margin):
        return "Refuted: the opposite of this claim, but too small to matter"
    grade = "" if grade == DIRECTION and not margin else grade
    of_kind = OPENINGS.get(f"{claim['kind']} {answer['verdict']}")
    return of_kind or OPENINGS[graded(answer["verdict"], grade)]


def graded(status: str, grade: str) -> str:
    """Return a verdict with its grade, such as "supported, large enough to matter"."""
    verdict = "undecided" if status == INCONCLUSIVE else status
    return f"{verdict}, {grade}" if grade else verdict


def statement(claim: Any, label: Callable[[Levels], str]) -> str:
    """Return a claim about a table as a sentence; `label` returns the name of an arm."""
    target, there = claim["target"], claim["minus"]
    words = STATEMENTS[claim["kind"]] + (STRONGER if there else "")
    here = {column: x for column, x in claim["where"].items() if column in there}
    arms: dict[str, Any] = {
        "treatment": label(claim["treatment"]),
        "baseline": label(claim["baseline"]) if target is None else f"{target:g}",
        "metric": claim["measures"],
        "here": label(here) or "all runs",
        "there": label(there),
    }
    return f"{words}.".format_map({**claim, **arms})


def evidence_line(claim: Entry, answer: Answer) -> str:
    """Return the line of evidence below a verdict: estimate, interval, runs and margin.

    For an undecided claim, the line says how many seeds would decide it. Settings by which the arms
    differ, and which their labels do not name, follow.

    Args:
        claim: the claim in verdict.json.
        answer: the same claim, or its result at the short budget of steps.
    """
    parts = [*_evidence(claim, answer)]
    parts += [
        f"The runs with {arm} have {listed(settings)}."
        for arm, settings in claim.get("settings", {}).items()
    ]
    line = " ".join(filter(None, parts))
    # names in a table stay as they are written
    named = "design" in claim and claim["treatment"] and line.startswith(_arms(claim)[0])
    return line if named else line[:1].upper() + line[1:]


def _evidence(claim: Entry, answer: Answer) -> list[str]:
    """Return the sentences of the evidence on a claim; some may be empty."""
    failed = failures(answer.get("failed_to_learn", {}))
    if "problem" in answer:
        problem = f"{sentence(answer['problem'])}."
        return [problem, f"{failed[0].upper()}{failed[1:]}."] if failed else [problem]
    if answer.get("decided_by_failures"):
        return [f"{failed}.", FAILURES[answer["verdict"] == INCONCLUSIVE]]
    if claim["kind"] == "exact":
        return [*_exact(claim, answer), _corrected(answer)]
    if answer["effect"] is None:
        pair = "pair" if "design" in claim else "pair of runs"
        return [MISSING.format(pair=pair, metric=claim_metric(claim).name)]
    measured = _rates(claim, answer) if "rates" in answer else _effect(claim, answer)
    if "withheld" in answer:
        return [measured, OPEN.format(reason=sentence(answer["withheld"]))]
    return [measured, _margin(claim, answer), _corrected(answer), _outlook(claim, answer)]


def claim_metric(claim: Entry) -> Metric:
    """Return the metric of a claim, with the name that the study gives it in the key `measures`."""
    return metric_in_words(claim["metric"], claim.get("measures"))


def unit_of(claim: Entry) -> Metric:
    """Return the metric whose name, unit and digits are used to write the effect of a claim.

    The effect of a trend on a log-log scale is an exponent, which has no unit.
    """
    exponent = claim["kind"] == "trend" and claim["scale"] == "log_log"
    return EXPONENT if exponent else claim_metric(claim)


def direction(claim: Entry) -> int:
    """Return -1 if the sign of an effect must be reversed because lower is better, else 1."""
    return -1 if claim["better"] == "lower" and claim["kind"] != "exact" else 1


def effect_text(claim: Entry, effect: float, ends: list[float] | None, level: float) -> str:
    """Return an effect with its unit and its interval, such as "+0.3 BLEU (95 % CI 0.1 to 0.5)"."""
    unit, sign = unit_of(claim), direction(claim)
    return f"{_change(claim, effect)} ({interval_text(ends, level, unit, sign)})"


def interval_text(ends: list[float] | None, level: float, unit: Metric, sign: int) -> str:
    """Return a confidence interval as text, such as "95 % CI 9.69 to 17.21".

    Args:
        ends: lower and upper end of the interval; None if there is no interval.
        level: confidence level, such as 0.95.
        unit: the metric, which decides on the number of decimals.
        sign: -1 to change the sign of both ends, else 1.
    """
    if ends is None:
        return "no interval"
    words = [unit.say(sign * end) for end in sorted(ends)[::sign]]
    return f"{percent(level)} % CI {' to '.join(words)}"


def _change(claim: Entry, effect: float) -> str:
    """Return the change of the metric with its unit; a falling loss is negative."""
    unit = unit_of(claim)
    value = unit.say(direction(claim) * effect, sign=True)
    if len(unit.name.split()) > SHORT + 2:
        return f"{value} in {unit.name}"
    points = unit.unit not in ("", "points", "proportion", "count")
    return f"{value} {unit.name}{f' ({unit.unit})' if points else ''}".strip()


def _arms(claim: Entry) -> list[str]:
    """Return the labels of treatment and baseline by the levels in which they differ."""
    shared = shared_levels(claim)
    arms = (claim["treatment"], claim["baseline"])
    first, second = (in_sentence({k: v for k, v in x.items() if k not in shared}) for x in arms)
    return [first, f"{claim['target']:g}" if "target" in claim else second]


def _setting(claim: Entry, apart: Levels, both: str = "both ") -> str:
    """Return what all arms of a claim share in brackets, without the levels in `apart` and without
    those that say how a model is measured, and not what it is; it may be "".
    """
    shared = {**claim["where"], **shared_levels(claim)}
    levels = {k: v for k, v in shared.items() if k not in apart and k not in MEASURED}
    return f" ({both}with {in_sentence(levels)})" if levels else ""


def _effect(claim: Entry, answer: Answer) -> str:
    """Return the effect of a claim with its interval and its runs."""
    ends, level = answer["interval"], 1 - claim["alpha"]
    if "interval_equivalence" in answer:  # of the two one-sided tests, which decide
        ends, level = answer["interval_equivalence"], 1 - 2 * claim["alpha"]
    runs = counted(answer["pairs"], "pair" if "design" in claim else "paired seed")
    if more := answer.get("unpaired_runs"):
        runs += f" and {counted(more, 'unpaired run')}"
    if "counts" in answer:
        runs = f"{listed(answer['counts'])} runs"
    if sentences := answer.get("sentences"):
        runs += f", {sentences:,} sentences"
    beside = ""
    if predicted := claim.get("predicted"):
        gain, error = _change(claim, predicted["gain"]), unit_of(claim).say(predicted["error"])
        words = SUBTRACTED if claim["kind"] == "equivalence" else PREDICTED
        beside = words.format(gain=gain, error=error)
    return EFFECT.format(
        compared=compared(claim),
        change=_change(claim, cast(float, answer["effect"])),
        interval=interval_text(ends, level, unit_of(claim), direction(claim)),
        runs=runs,
        beside=beside,
    )


def compared(claim: Entry) -> str:
    """Return what the effect of a claim is about, such as "Pre-LN against Post-LN:"."""
    there = {k: v for k, v in claim["minus"].items() if claim["where"].get(k, ...) != v}
    here = {k: v for k, v in claim["where"].items() if k in there}
    trend, over = claim["kind"] == "trend", factor_label(claim["over"]) if claim["over"] else ""
    subject = SUBJECTS[claim["scale"] if trend else ""].format(
        arms=" against ".join(_arms(claim)),
        metric=claim_metric(claim).name,
        over=f"the number of {over}" if over.endswith("s") else f"the {over}",
    )
    places = PLACES.format(here=in_sentence(here), there=in_sentence(there)) if there else ""
    return f"{subject}{_setting(claim, here, '' if trend else 'both ')}:{places}"


def _rates(claim: Entry, answer: Answer) -> str:
    """Return the numbers of failed runs in both arms of a stability claim."""
    arms = _arms(claim)[:: direction(claim)]  # if lower is better, those of the baseline come first
    rates = " against ".join(f"{count} of {of}" for count, of in answer["rates"])
    name = claim_metric(claim).name.removesuffix(" runs")
    subject = " against ".join(arms)
    return RATES.format(subject=subject, setting=_setting(claim, {}), rates=rates, failed=name)


def _margin(claim: Entry, answer: Answer) -> str:
    """Return a sentence on which differences matter, according to the margin of the claim."""
    unit, margin = unit_of(claim), claim["margin"]
    if not margin:
        return "" if "rates" in answer else "Any difference counts."
    name = unit.name * (len(unit.name.split()) <= SHORT)
    bound = f"{margin:,.10g} {name}".strip()
    return MATTERS.get(claim["kind"], MATTERS[""]).format(bound=bound)


def _corrected(answer: Answer) -> str:
    """Return what Holm's correction for several claims leaves open; "" if it changes nothing."""
    return HOLM.format(open=LEFT_OPEN[answer["grade"]]) if "uncorrected" in answer else ""


def _outlook(claim: Entry, answer: Answer) -> str:
    """Return a sentence on how many seeds would decide an undecided claim; "" if it is decided, or
    if seeds cannot be planned or would be too many.

    The standard deviation is assumed to stay as measured.
    """
    fewest = seeds_needed(answer)
    if answer["verdict"] != INCONCLUSIVE or fewest is None:
        return ""
    unit = UNITS.get(claim.get("design", ""), "runs" if "counts" in answer else "seeds")
    plans = (answer["seeds_needed"] or {}).values()
    size = next(plan["effect"] for plan in plans if plan["seeds"] == fewest)
    effect = "slope" if claim["kind"] == "trend" else "difference"
    return SEEDS.format(seeds=fewest, unit=unit, effect=effect, size=unit_of(claim).say(size))


def seeds_needed(answer: Answer) -> int | None:
    """Return the number of seeds that would decide an undecided claim, if more would."""
    plans = (answer["seeds_needed"] or {}).values()
    return min((n for plan in plans if (n := plan["seeds"] or 0) > answer["pairs"]), default=None)


def _exact(claim: Entry, answer: Answer) -> list[str]:
    """Return sentences with the evidence on an exact claim.

    The evidence is the worst value of all cases, with the number of cases, the limit, and the
    control (an arm or a deliberate fault with which the check must fail). If the claim is about
    trained models, the evidence is the mean over seeds.
    """
    cases, away = answer["cases"], bool(claim["margin"])
    limit = LIMITS[away].format(limit=claim["margin"] or claim["tolerance"])
    if not cases["counted"]:
        return [UNCOUNTED.format(measure=_measure(claim), of=cases["of"])]
    words = {
        "measure": f"{_measure(claim)}{_setting(claim, {}, '')}",
        "value": deviation(answer["effect"]),
        "interval": interval_text(
            answer.get("interval_equivalence"), 1 - 2 * claim["alpha"], unit_of(claim), 1
        ),
        "seeds": counted(answer["pairs"], "seed"),
        "cases": counted(cases["counted"], "case"),
        "broken": cases["broken"],
        "limit": limit if cases["draws"] is None else DRAWS.format(draws=cases["draws"]) + limit,
    }
    if "holding" in cases:
        return [MEAN.format_map(words)]
    return [WORST.format_map(words), _control(claim, answer)]


def _measure(claim: Entry) -> str:
    """Return the name of the value that an exact claim restricts; for a difference, with its
    arms.
    """
    name = claim.get("measures") or f"the metric {claim_metric(claim).name}"
    if not claim["treatment"] or claim["metric"].endswith(CHANGED):
        return name
    return f"the difference in {name} between {' and '.join(_arms(claim))}"


def _control(claim: Entry, answer: Answer) -> str:
    """Return a sentence with the evidence that the check of a supported claim could have failed."""
    cases = answer["cases"]
    if answer["verdict"] != SUPPORTED:
        return ""
    if cases["control"] is not None:
        fault = claim.get("control_measures") or claim["fault"].replace("_", " ")
        return FAULT.format(fault=fault, value=deviation(cases["control"]))
    if "elsewhere" in cases:
        levels, distance = cases["elsewhere"]
        return FAILS.format(arm=in_sentence(levels), value=deviation(distance))
    return "The study has no case in which this check must fail."
