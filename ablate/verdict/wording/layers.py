"""Write the answer to a claim in three layers: a headline, one line of evidence, and the details.

The headline is for a reader who knows no statistics: the answer, and the claim. The evidence has
the estimate, its interval, the runs and the margin. The details (ablate.verdict.wording.details)
have every field. All layers are written from the data of a final verdict.
"""

from typing import cast

from ablate.config.labels import MEASURED, arm_label, arm_labels, factor_label, option_label
from ablate.evidence.types import Answer, Claim, Entry, Levels, Question, Short, Verdict
from ablate.metric.table import MILLION, Metric, metric_in_words
from ablate.phrases import listed
from ablate.verdict.decision import (
    DIRECTION,
    INCONCLUSIVE,
    LARGE,
    OPPOSITE,
    REFUTED,
    SMALL,
    SUPPORTED,
    was_trained,
)
from ablate.verdict.wording.details import details, deviation, direction, unit_of

EVIDENCE = 40  # largest number of words; what does not fit is only in the details
BRIEF_MARGIN = "Margin: {}."
SHORT = 3  # largest number of words of a metric's name that is repeated
OPENINGS = {
    (SUPPORTED, ""): "Supported",
    (SUPPORTED, LARGE): "Supported",
    (SUPPORTED, DIRECTION): "Supported, but maybe small",
    (REFUTED, ""): "Refuted",
    (REFUTED, SMALL): "Refuted: too small to matter",
    (REFUTED, OPPOSITE): "Refuted: it is the other way round",
    (INCONCLUSIVE, ""): "Undecided",
}
OPENINGS_OF_KIND = {
    ("equivalence", SUPPORTED): "Supported: no difference that matters",
    ("equivalence", REFUTED): "Refuted: there is a difference",
    ("non_inferiority", SUPPORTED): "Supported: no loss that matters",
    ("non_inferiority", REFUTED): "Refuted: there is a loss that matters",
}
PER = {"linear": "per unit of", "log": "per doubling of"}


def opening(claim: Question, answer: Answer | Entry | Short) -> str:
    """Return the answer to a claim in a few words, such as "Refuted: too small to matter"."""
    return opening_of(claim["kind"], answer["verdict"], answer["grade"])


def opening_of(kind: str, verdict: str, grade: str) -> str:
    """Return the answer to a claim in a few words, from its kind, verdict and grade."""
    return OPENINGS_OF_KIND.get((kind, verdict)) or OPENINGS[verdict, grade]


def bounds(verdict: Verdict) -> str:
    """Return a sentence that limits a result to the size of the model, the corpus and the steps."""
    regime = verdict["regime"]
    sizes = [
        arm["metrics"]["parameters"]["mean"]
        for arm in verdict["arms"]
        if "parameters" in arm["metrics"]
    ]
    corpus = " and ".join(option_label("data", name) for name in str(regime["data"]).split(" and "))
    if not was_trained(verdict):
        return "Computed without training; it holds for models of any quality."
    steps = regime["steps"] if isinstance(regime["steps"], str) else f"{regime['steps']:,}"
    size = f"{_parameters(sizes)} parameters" if sizes else "an unknown size"
    return (
        f"Measured with models of {size} on {corpus}, {steps} steps. Larger models and other text "
        "may differ."
    )


def _parameters(sizes: list[float]) -> str:
    low, high = (f"{float(f'{size:.3g}'):,.0f}" for size in (min(sizes), max(sizes)))
    return low if low == high else f"{low} to {high}"


def evidence(claim: Claim, answer: Answer) -> str:
    """Return the line of evidence below a verdict: estimate, interval, runs and margin.

    For an undecided claim, the line says how many seeds would decide it. Sentences that would make
    the line too long are left out.
    """
    first, *more_sentences = _evidence(claim, answer)
    line = f"{first[:1].upper()}{first[1:]}."
    for sentence in filter(None, more_sentences):
        longer = f"{line} {sentence}"
        line = longer if len(longer.split()) <= EVIDENCE else line
    return line


def _evidence(claim: Claim, answer: Answer) -> tuple[str, ...]:
    """Return the sentences on the estimate, interval, runs and margin, most important first."""
    condition = _condition(claim)
    failed = _failures(answer)
    if problem := answer.get("problem"):
        return problem, f"{failed}." if failed else ""
    if answer.get("decided_by_failures"):
        decides = answer["verdict"] != INCONCLUSIVE
        end = "That decides the claim" if decides else "These runs are too few to decide"
        return (f"{failed}. {end}",)
    if claim["kind"] == "exact":
        return _exact(claim, answer, condition), _could_fail(claim, answer)
    if answer["effect"] is None:
        return (f"no two runs with the same seed have ended with {_metric(claim).name}",)
    measured = _rates if "rates" in answer else _estimate
    first = measured(claim, answer, condition)
    margin = _margin(claim, answer)
    long = len(f"{first} {margin}".split()) > EVIDENCE
    if long and margin and "withheld" not in answer:
        margin = BRIEF_MARGIN.format(f"{claim['margin']:g}")
    return first, margin, _outlook(claim, answer)


def _shared(claim: Claim) -> Levels:
    """Return the levels that both arms of a claim have."""
    baseline = claim["baseline"]
    return {k: v for k, v in claim["treatment"].items() if k in baseline and baseline[k] == v}


def _condition(claim: Claim) -> str:
    """Return the levels that all arms of a claim share, as text such as "6 layers and no warm-up";
    "" if the arms share none.
    """
    shared = claim["where"] | _shared(claim)
    return listed(arm_labels({k: v for k, v in shared.items() if k not in MEASURED}))


def _against(claim: Claim) -> list[str]:
    """Return the labels of treatment and baseline by the levels in which they differ."""
    shared = _shared(claim)
    arms = (claim["treatment"], claim["baseline"])
    return [arm_label({k: v for k, v in arm.items() if k not in shared}) for arm in arms]


def with_layers(claim: Claim, entry: Entry) -> Entry:
    """Return a claim of verdict.json with headline, evidence and details.

    If the runs were evaluated after two numbers of training steps, the result after the short
    number (key `short`) gets these texts, too.
    """
    if "short" in entry:
        entry = cast(Entry, entry | {"short": entry["short"] | _layers(claim, entry["short"])})
    return cast(Entry, entry | _layers(claim, entry))


def _layers(claim: Claim, answer: Answer) -> dict[str, object]:
    return {
        "headline": f"{opening(claim, answer)}. {claim['statement']}",
        "evidence": evidence(claim, answer),
        "details": details(claim, answer),
    }


def _estimate(claim: Claim, answer: Answer, condition: str) -> str:
    """Return the effect as a change of the metric, so that a fall of a loss is negative."""
    line = _effect(claim, answer, condition)
    brief = len(line.split()) > EVIDENCE - len(BRIEF_MARGIN.split())
    return _effect(claim, answer, condition, brief=True) if brief else line


def _effect(claim: Claim, answer: Answer, condition: str, *, brief: bool = False) -> str:
    """Return the effect; if `brief`, without its unit and the number of sentences."""
    unit, sign = unit_of(claim), direction(claim)
    value = unit.say(sign * cast(float, answer["effect"]), sign=True)
    change = f"{value} {unit.name}{'' if brief else _points(unit)}"
    ends, level = answer["interval"], 1 - claim["alpha"]
    if "interval_equivalence" in answer:  # the interval of the two one-sided tests, which decide
        ends, level = answer["interval_equivalence"], 1 - 2 * claim["alpha"]
    beside = f"({_interval(ends, level, unit, sign)}; {_runs(answer, brief=brief)})"
    named = len(unit.name.split()) > SHORT + 2  # a name too long to follow a number
    if claim["kind"] == "trend":
        over, given = factor_label(claim["over"]), f"with {condition}, " if condition else ""
        if claim["scale"] == "log_log":
            power, verb = value.removeprefix("+"), "falls" if value[0] == "-" else "grows"
            return f"{given}{_metric(claim).name} {verb} as {over} to the power {power} {beside}"
        per = f"{PER[claim['scale']]} {over}"
        if named:
            return f"{given}slope of {unit.name}: {value} {per} {beside}"
        return f"{given}{change} {per} {beside}"
    both = f" (both with {condition})" if condition else ""
    against = " against ".join(_against(claim)) + both
    if named:
        change = f"{value} in {unit.name}"
    if minus := _elsewhere(claim):
        return f"{against}: {change} more than with {minus} {beside}"
    return f"{against}: {change} {beside}"


def _elsewhere(claim: Claim) -> str:
    """Return the label of the levels at which the second difference of an interaction was measured,
    that is, the difference that is subtracted from the first; "" if there is none.
    """
    where = claim["where"]
    return arm_label({k: v for k, v in claim["minus"].items() if where.get(k, ...) != v})


def _points(unit: Metric) -> str:
    return "" if unit.unit in ("", "points", "share", "count") else f" ({unit.unit})"


def _interval(ends: list[float] | None, level: float, unit: Metric, sign: int) -> str:
    if ends is None:
        return "no interval"
    low, high = sorted(sign * end for end in ends)
    plain = 10**-unit.digits <= max(-low, high) < MILLION
    digits = unit.digits if plain else None
    bounds = [unit.say(end) if digits is None else f"{end:,.{digits}f}" for end in (low, high)]
    return f"{100 * level:.3g} % CI {' to '.join(bounds)}"


def _runs(answer: Answer, *, brief: bool) -> str:
    """Return the numbers of seeds and of test sentences of an estimate, as text."""
    seeds = f"{answer['pairs']} paired seed{'s' * (answer['pairs'] != 1)}"
    sentences = answer.get("sentences")
    return f"{seeds}, {sentences:,} sentences" if sentences and not brief else seeds


def _margin(claim: Claim, answer: Answer) -> str:
    """Return a sentence on what the margin means; "" if the claim has none."""
    if "withheld" in answer:
        return f"The answer is left open, since {answer['withheld']}."
    name, margin = unit_of(claim).name, claim["margin"]
    if not margin:
        return ""
    if claim["kind"] == "trend":
        return f"Slopes above {margin:g} count as large enough to matter."
    size = unit_of(claim).say(margin) if margin >= MILLION else f"{margin:g}"
    bound = f"{size} {name}" if len(name.split()) <= SHORT else size
    if claim["kind"] in ("equivalence", "non_inferiority"):
        return f"Differences within {bound} do not matter."
    return f"Differences above {bound} count as large enough to matter."


def _outlook(claim: Claim, answer: Answer) -> str:
    """Return a sentence on how many seeds would decide an undecided claim.

    The standard deviation is assumed to stay as measured.
    """
    planned = [*(answer["seeds_needed"] or {}).values()]
    if answer["verdict"] != INCONCLUSIVE or not planned:
        return ""
    more = [plan for plan in planned if plan["seeds"] and plan["seeds"] > answer["pairs"]]
    if not more:
        numbered = any(plan["seeds"] for plan in planned)
        return "" if numbered else "More test sentences, not more seeds, would settle it."
    fewest = min(more, key=lambda plan: cast(int, plan["seeds"]))
    return f"About {fewest['seeds']:,} seeds would show {_planned(claim, fewest['effect'])}."


def _planned(claim: Claim, effect: float) -> str:
    """Return a phrase for the true effect for which seeds are planned."""
    if claim["kind"] in ("equivalence", "non_inferiority") and not effect:
        return "that the arms are equal, if they are"
    if claim["kind"] == "stability":
        return f"a true difference of {100 * effect:.0f} points"
    what = "slope" if claim["kind"] == "trend" else "difference"
    return f"a true {what} of {unit_of(claim).say(effect)}"


def _rates(claim: Claim, answer: Answer, condition: str) -> str:
    """Return a phrase on how many runs of each arm diverged or collapsed, whichever the claim
    counts.
    """
    arms = _against(claim)
    if claim["better"] == "lower":  # then the baseline counts as plus
        arms.reverse()
    counts = zip(answer["rates"], arms, strict=True)
    name = _metric(claim).name.removesuffix(" runs")
    runs = listed([f"{n} of {of} runs with {arm}" for (n, of), arm in counts])
    return f"with {condition}, {runs} {name}" if condition else f"{runs} {name}"


def _failures(answer: Answer) -> str:
    """Return a phrase on how many runs of each arm failed to learn; "" if none did.

    The arm with the most failed runs comes first.
    """
    counts = sorted(answer.get("failed_to_learn", {}).items(), key=lambda item: -item[1]["runs"])
    if not counts or not counts[0][1]["runs"]:
        return ""
    (worst, most), *rest = counts
    first = f"{most['runs']} of {most['of']} runs with {worst} failed to learn"
    return "; ".join(
        [first, *(f"{count['runs']} of {count['of']} with {arm}" for arm, count in rest)]
    )


def _exact(claim: Claim, answer: Answer, condition: str) -> str:
    """Return a phrase on how many cases satisfy an exact claim (a claim that a condition holds in
    every case), and the value of the worst case.
    """
    cases = answer["cases"]
    if not cases["counted"]:
        why = "its control did not respond" if cases["of"] else "nothing was measured"
        return f"no case of {_metric(claim).name} counts, since {why}"
    it = f"with {condition}, it holds" if condition else "it holds"
    if "holding" in cases:
        return f"{it} in {cases['holding']} of {answer['pairs']} seeds. {_mean(claim, answer)}"
    draws = f" ({cases['draws']:,} random draws each)" if cases["draws"] else ""
    end = "smallest value" if claim["margin"] else "largest deviation"
    worst = f"{end}: {deviation(answer['effect'])} ({_allowed(claim)})"
    valid = f"{cases['counted'] - cases['broken']} of {cases['counted']}"
    return f"{it} in {valid} cases{draws}; {worst}"


def _mean(claim: Claim, answer: Answer) -> str:
    """Return a phrase with the mean over seeds of the value that a claim restricts to a tolerance
    or a margin, its confidence interval, and the allowed deviation.
    """
    name = _metric(claim).name
    interval = _interval(answer["interval"], 1 - 2 * claim["alpha"], unit_of(claim), 1)
    value = f"{deviation(answer['effect'])} on average ({interval}; {_allowed(claim)})"
    return f"{name[:1].upper()}{name[1:]}: {value}"


def _allowed(claim: Claim) -> str:
    """Return a phrase for the deviation that an exact claim (a claim that a condition holds in
    every case) allows.
    """
    if claim["margin"]:
        return f"at least {claim['margin']:g} is needed"
    if not claim["tolerance"]:
        return "none is allowed"
    return f"at most {claim['tolerance']:g} is allowed"


def _could_fail(claim: Claim, answer: Answer) -> str:
    """Return a sentence with the evidence that the check of a supported claim could have failed."""
    cases = answer["cases"]
    if answer["verdict"] != SUPPORTED or "holding" in cases:
        return ""
    if cases["control"] is not None:
        control = claim.get("control_measures") or claim["control"].replace("_", " ")
        least = deviation(cases["control"])
        return f"The check can fail: {control} gave at least {least}."
    if "elsewhere" in cases:
        arm, distance = cases["elsewhere"]
        size = "value is only" if claim["margin"] else "deviation is"
        return f"The check can fail: with {arm}, the {size} {deviation(distance)}."
    return "No run shows that the check could have failed."


def _metric(claim: Claim) -> Metric:
    return metric_in_words(claim["metric"], claim.get("measures"))
