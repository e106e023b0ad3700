"""Write the evidence on a statistical claim: the effect, its interval, the runs and the margin."""

from typing import cast

from ablate.config.labels import MEASURED, factor_label
from ablate.evidence.registration import shared_levels
from ablate.evidence.types import Answer, Entry, Levels, Predicted
from ablate.metric.table import MILLION, Metric, metric_in_words
from ablate.phrases import counted, in_sentence, listed, percent
from ablate.verdict.decision import DIRECTION, INCONCLUSIVE, REFUTED, SMALL, SUPPORTED
from ablate.verdict.kind import kind_of
from ablate.words.reasons import sentence

SHORT = 3  # a metric's name with more words than this is not repeated after the margin
HOLM = "After the correction for several claims (Holm)"
WEAKER = {  # the part of the answer that the correction leaves open, by the grade that remains
    DIRECTION: "the size is uncertain",
    SMALL: "the direction is uncertain",
    "": "the claim is undecided",
}
LARGER = "it may be larger than the margin"  # if "too small to matter" becomes "direction only"
PER = {"linear": "per unit of", "log": "per doubling of"}
# the effect by the shape of the comparison; {beside} has interval and runs
EFFECTS = {
    "difference": "{arms}: {change} {beside}",
    "prediction": "{arms}: {reached} where {predicted} was predicted; the difference is {change} "
    "{beside}",
    "interaction": "{arms}: the difference{here} minus that with {there} is {change} {beside}",
    "trend": "{given}{change} {per} {over} {beside}",
    "power": "{given}{name} {verb} as {over} to the power {power} {beside}",
    "two trends": "{given}{slope}{here} minus that with {there} is {change} {beside}",
}
# the unit of a planned number of runs, by the design of a table; "seeds" without one
UNITS = {"paired": "pairs", "unpaired": "runs per arm", "one sample": "runs"}
RULES = {  # which differences matter, by kind of claim; "" for all other kinds
    "equivalence": "Differences within {bound} do not matter.",
    "non_inferiority": "Differences within {bound} do not matter.",
    "trend": "Slopes steeper than {bound} count as large enough to matter.",
    "": "Differences of more than {bound} count as large enough to matter.",
}


def effect_line(claim: Entry, answer: Answer) -> str:
    """Return the evidence on a statistical claim."""
    if answer["effect"] is None and "design" in claim:
        return f"no pair has a value of {claim_metric(claim).name} in every arm."
    if answer["effect"] is None:
        return f"no two runs with the same seed have ended with {claim_metric(claim).name}."
    measured = _rates(claim, answer) if "rates" in answer else _effect(claim, answer)
    parts = (f"{measured}.", _margin(claim, answer), _outlook(claim, answer))
    return " ".join(filter(None, parts))


def claim_metric(claim: Entry) -> Metric:
    """Return the metric of a claim, with the name that the study gives it in the key `measures`."""
    return metric_in_words(claim["metric"], claim.get("measures"))


def unit_of(claim: Entry) -> Metric:
    """Return the metric whose name, unit and digits are used to write the effect of a claim.

    The effect of a trend on a log-log scale is an exponent, which has no unit.
    """
    return Metric("(exponent)", "", 3) if is_exponent(claim) else claim_metric(claim)


def is_exponent(claim: Entry) -> bool:
    """Return whether the effect of a claim is an exponent: that of a trend on a log-log scale."""
    return claim["kind"] == "trend" and claim["scale"] == "log_log"


def direction(claim: Entry) -> int:
    """Return -1 if the sign of an effect must be reversed because lower is better, else 1."""
    return -1 if claim["better"] == "lower" and claim["kind"] != "exact" else 1


def condition_text(levels: Levels) -> str:
    """Return levels of factors as text, such as "6 layers and no warm-up".

    Levels that say how a model is measured, and not what it is, are left out. The result is "" if
    no level is left.
    """
    return in_sentence({k: v for k, v in levels.items() if k not in MEASURED})


def arm_names(claim: Entry) -> list[str]:
    """Return the labels of treatment and baseline by the levels in which they differ."""
    shared = shared_levels(claim)
    arms = (claim["treatment"], claim["baseline"])
    return [in_sentence({k: v for k, v in arm.items() if k not in shared}) for arm in arms]


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
    low, high = sorted(sign * end + 0.0 for end in ends)  # 0 in place of -0
    plain = 10**-unit.digits <= max(-low, high) < MILLION
    bounds = [f"{end:,.{unit.digits}f}" if plain else unit.say(end) for end in (low, high)]
    return f"{percent(level)} % CI {' to '.join(bounds)}"


def _change(claim: Entry, effect: float) -> str:
    """Return the change of the metric with its unit; a falling loss is negative."""
    unit = unit_of(claim)
    value = unit.say(direction(claim) * effect, sign=True)
    if _is_long(unit):
        return f"{value} in {unit.name}"
    points = unit.unit not in ("", "points", "proportion", "count")
    return f"{value} {unit.name}{f' ({unit.unit})' if points else ''}"


def _is_long(unit: Metric) -> bool:
    """Return whether the name of a metric is too long to follow a number."""
    return len(unit.name.split()) > SHORT + 2


def _effect(claim: Entry, answer: Answer) -> str:
    """Return the effect of a claim with its interval and its runs."""
    effect, unit, sign = cast(float, answer["effect"]), unit_of(claim), direction(claim)
    ends, level = answer["interval"], 1 - claim["alpha"]
    if "interval_equivalence" in answer:  # the interval of the two one-sided tests, which decide
        ends, level = answer["interval_equivalence"], 1 - 2 * claim["alpha"]
    runs = counted(answer["pairs"], "pair" if "design" in claim else "paired seed")
    if "counts" in answer:
        runs = f"{listed(answer['counts'])} runs"
    if sentences := answer.get("sentences"):
        runs += f", {sentences:,} sentences"
    here, there = _places(claim)
    shared = {k: v for k, v in (claim["where"] | shared_levels(claim)).items() if k not in here}
    condition = condition_text(shared)
    fields = {
        "beside": f"({interval_text(ends, level, unit, sign)}; {runs})",
        "change": _change(claim, effect),
        "here": f" with {in_sentence(here)}" if here else "",
        "there": in_sentence(there),
    }
    if claim["kind"] == "trend":
        fields |= _trend(claim, sign * effect) | {"given": f"with {condition}, " * bool(condition)}
        shape = "two trends" if there else "power" if is_exponent(claim) else "trend"
    else:
        compared = arm_names(claim)
        if "target" in claim:
            compared[1] = f"{claim['target']:g}"
        arms = " against ".join(compared)
        fields["arms"] = f"{arms} (both with {condition})" if condition else arms
        shape = "interaction" if there else "difference"
        if (predicted := claim.get("predicted")) and claim["kind"] == "equivalence":
            shape = "prediction"
            fields["reached"] = _change(claim, effect + predicted["gain"])
            fields["predicted"] = _predicted(claim, predicted)
        elif predicted:
            fields["beside"] += f", where {_predicted(claim, predicted)} was predicted"
    return EFFECTS[shape].format_map(fields)


def _predicted(claim: Entry, predicted: Predicted) -> str:
    """Return a predicted change of the metric with its standard error."""
    return f"{_change(claim, predicted['gain'])} ± {unit_of(claim).say(predicted['error'])}"


def _trend(claim: Entry, slope: float) -> dict[str, str]:
    """Return the fields of the evidence on a trend."""
    name, over = claim_metric(claim).name, factor_label(claim["over"])
    return {
        "over": f"the number of {over}" if over.endswith("s") else f"the {over}",
        "per": PER.get(claim["scale"], ""),
        "slope": f"the {'exponent' if is_exponent(claim) else 'slope'} of {name}",
        "name": name,
        "verb": "falls" if slope < 0 else "grows",
        "power": unit_of(claim).say(slope),
    }


def _places(claim: Entry) -> tuple[Levels, Levels]:
    """Return the two settings whose differences an interaction compares, as levels.

    Both are {} if the claim is no interaction.
    """
    where = claim["where"]
    there = {k: v for k, v in claim["minus"].items() if where.get(k, ...) != v}
    return {k: v for k, v in where.items() if k in there}, there


def _margin(claim: Entry, answer: Answer) -> str:
    """Return a sentence on which differences matter, according to the margin of the claim.

    If Holm's correction for several claims changes the decision, the text says so. If the answer is
    withheld, the sentence states only the reason for that.
    """
    if "withheld" in answer:
        return f"The answer is left open, since {sentence(answer['withheld'])}."
    any_counts = "" if "rates" in answer else "Any difference counts."
    rule = _rule(claim) if claim["margin"] else any_counts
    if "uncorrected" not in answer:
        return rule
    lost = answer["verdict"] == SUPPORTED and answer["uncorrected"]["verdict"] == REFUTED
    return f"{rule} {HOLM}, {LARGER if lost else WEAKER[answer['grade']]}.".strip()


def _rule(claim: Entry) -> str:
    """Return a sentence on which differences matter (for a trend: which slopes)."""
    if is_exponent(claim):
        sign = direction(claim)
        side = "above" if sign > 0 else "below"
        return f"Powers {side} {sign * claim['margin']:g} count as large enough to matter."
    unit, margin = unit_of(claim), claim["margin"]
    size = unit.say(margin) if margin >= MILLION else f"{margin:g}"
    bound = size if len(unit.name.split()) > SHORT else f"{size} {unit.name}"
    return RULES.get(claim["kind"], RULES[""]).format(bound=bound)


def _outlook(claim: Entry, answer: Answer) -> str:
    """Return a sentence on how many seeds would decide an undecided claim.

    The standard deviation is assumed to stay as measured. The result is "" if the claim is decided,
    or if seeds cannot be planned.
    """
    plans = [*(answer["seeds_needed"] or {}).values()]
    if answer["verdict"] != INCONCLUSIVE or not plans:
        return ""
    more = [plan for plan in plans if plan["seeds"] and plan["seeds"] > answer["pairs"]]
    if not more:
        reason = kind_of(claim).beyond_most_seeds
        return "" if any(plan["seeds"] for plan in plans) else f"{reason[0].upper()}{reason[1:]}."
    fewest = min(more, key=lambda plan: cast(int, plan["seeds"]))
    unit = UNITS.get(claim.get("design", ""), "runs" if "counts" in answer else "seeds")
    return f"About {fewest['seeds']:,} {unit} would show {_planned(claim, fewest['effect'])}."


def seeds_needed(answer: Answer) -> int | None:
    """Return the number of seeds that would decide an undecided claim, if more would."""
    plans = (answer["seeds_needed"] or {}).values()
    return min((n for plan in plans if (n := plan["seeds"] or 0) > answer["pairs"]), default=None)


def _planned(claim: Entry, effect: float) -> str:
    """Return a phrase for the true effect for which seeds are planned."""
    if claim["kind"] in ("equivalence", "non_inferiority") and not effect:
        return "that the arms are equal, if they are"
    if claim["kind"] == "stability":
        return f"a true difference of {100 * effect:.0f} percentage points"
    what = "slope" if claim["kind"] == "trend" else "difference"
    return f"a true {what} of {unit_of(claim).say(effect)}"


def _rates(claim: Entry, answer: Answer) -> str:
    """Return the numbers of failed runs in both arms of a stability claim."""
    arms = arm_names(claim)
    if claim["better"] == "lower":  # then the rates of the baseline come first
        arms.reverse()
    counts = zip(answer["rates"], arms, strict=True)
    name = claim_metric(claim).name.removesuffix(" runs")
    runs = listed([f"{n} of {of} runs with {arm}" for (n, of), arm in counts])
    condition = condition_text(claim["where"] | shared_levels(claim))
    return f"with {condition}, {runs} {name}" if condition else f"{runs} {name}"
