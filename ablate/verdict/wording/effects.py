"""Write the evidence on a statistical claim: the effect, its interval, the runs and the margin."""

from typing import cast

from ablate.config.labels import MEASURED, arm_label, factor_label
from ablate.evidence.questions import shared_levels
from ablate.evidence.types import Answer, Claim, Levels
from ablate.metric.table import MILLION, Metric, metric_in_words
from ablate.phrases import counted, in_sentence, listed, percent
from ablate.verdict.decision import (
    DIRECTION,
    INCONCLUSIVE,
    REFUTED,
    SMALL,
    SUPPORTED,
)
from ablate.verdict.kind import kind_of
from ablate.verdict.wording.details import direction, unit_of

SHORT = 3  # a metric's name with more words than this is not repeated after the margin
HOLM = "After the correction for several claims (Holm)"
BRIEF_HOLM = "After Holm's correction"
WEAKER = {  # the part of the answer that the correction leaves open, by the grade that remains
    DIRECTION: "the size is uncertain",
    SMALL: "the direction is uncertain",
    "": "the claim is undecided",
}
LARGER = "it may be larger than the margin"  # if "too small to matter" becomes "direction only"
LEARNED_NOTHING = "failed to learn (they diverged or stayed near chance)"
PER = {"linear": "per unit of", "log": "per doubling of"}


def effect_evidence(claim: Claim, answer: Answer) -> list[str]:
    """Return the evidence on a statistical claim in several wordings; the first has the most
    information.
    """
    if answer["effect"] is None:
        return [f"no two runs with the same seed have ended with {claim_metric(claim).name}."]
    measured = _rates(claim, answer) if "rates" in answer else _estimates(claim, answer)
    margins = [_margin(claim, answer), _margin(claim, answer, brief=True)]
    wordings = [f"{first}. {margin}".strip() for first in measured for margin in margins]
    planned = [f"{words} {sentence}" for sentence in _outlook(claim, answer) for words in wordings]
    shortest = f"{_shortest(claim, answer)}."
    with_margin = f"{shortest} {margins[-1]}".strip()
    open_ = answer["verdict"] == INCONCLUSIVE or "uncorrected" in answer
    return [*planned, *wordings, with_margin, *([] if open_ else [shortest])]


def _shortest(claim: Claim, answer: Answer) -> str:
    """Return the shortest wording of the evidence, without the margin.

    If the evidence is an effect, the wording leaves out the number of sentences, the explanation of
    the unit, and the levels (values of factors) that both arms share.
    """
    if "rates" in answer:
        return _rates(claim, answer)[-1]
    return _effect(claim, answer, "sentences, unit, shared levels")


def condition_text(levels: Levels) -> str:
    """Return levels of factors as text, such as "6 layers and no warm-up".

    Levels that say how a model is measured, and not what it is, are left out. The result is "" if
    no level is left.
    """
    return in_sentence({k: v for k, v in levels.items() if k not in MEASURED})


def arm_names(claim: Claim) -> list[str]:
    """Return the labels of treatment and baseline by the levels in which they differ."""
    shared = shared_levels(claim)
    arms = (claim["treatment"], claim["baseline"])
    return [in_sentence({k: v for k, v in arm.items() if k not in shared}) for arm in arms]


def _estimates(claim: Claim, answer: Answer) -> list[str]:
    """Return three wordings of the effect and its interval, from the longest to the shortest.

    The second wording leaves out the number of test sentences. The third also leaves out the
    explanation of the unit. The effect is the change of the metric, so a falling loss is negative.
    """
    return [_effect(claim, answer, without) for without in ("", "sentences", "sentences, unit")]


def _effect(claim: Claim, answer: Answer, without: str) -> str:
    unit, sign = unit_of(claim), direction(claim)
    value = unit.say(sign * cast(float, answer["effect"]), sign=True)
    change = f"{value} {unit.name}{'' if 'unit' in without else _points(unit)}"
    ends, level = answer["interval"], 1 - claim["alpha"]
    if "interval_equivalence" in answer:  # the interval of the two one-sided tests, which decide
        ends, level = answer["interval_equivalence"], 1 - 2 * claim["alpha"]
    runs = _runs(answer, brief="sentences" in without)
    beside = f"({interval_text(ends, level, unit, sign)}; {runs})"
    named = len(unit.name.split()) > SHORT + 2  # a name too long to follow a number
    if claim["kind"] == "trend" and claim["minus"]:
        per = f"{PER[claim['scale']]} {_over(claim)} " if claim["scale"] in PER else ""
        return f"{_slopes(claim)} is {value if named or not per else change} {per}{beside}"
    if claim["kind"] == "trend":
        condition = condition_text(claim["where"] | shared_levels(claim))
        over, given = _over(claim), f"with {condition}, " if condition else ""
        if claim["scale"] == "log_log":
            power, verb = value.removeprefix("+"), "falls" if value[0] == "-" else "grows"
            return (
                f"{given}{claim_metric(claim).name} {verb} as {over} to the power {power} {beside}"
            )
        per = f"{PER[claim['scale']]} {over}"
        if named:
            return f"{given}slope of {unit.name}: {value} {per} {beside}"
        return f"{given}{change} {per} {beside}"
    if named:
        change = f"{value} in {unit.name}"
    shared = "shared levels" not in without
    return f"{_comparison(claim, shared=shared).format(change)} {beside}"


def _slopes(claim: Claim) -> str:
    """Return the subject of a sentence on the difference between the slopes of two settings."""
    here, there = _places(claim)
    condition = condition_text({k: v for k, v in claim["where"].items() if k not in here})
    given = f"with {condition}, " if condition else ""
    with_here = f" with {in_sentence(here)}" if here else ""
    name = claim_metric(claim).name
    slope = f"the slope of {name}" if claim["scale"] in PER else f"the exponent of {name}"
    return f"{given}{slope}{with_here} minus that with {in_sentence(there)}"


def _over(claim: Claim) -> str:
    """Return the name of the factor of a trend, such as "the number of heads"."""
    name = factor_label(claim["over"])
    return f"the number of {name}" if name.endswith("s") else f"the {name}"


def _comparison(claim: Claim, *, shared: bool) -> str:
    """Return a text that names the compared arms, such as "A against B: {}".

    The placeholder `{}` stands for the size of the difference. If `shared`, the text also names the
    levels (values of factors) that both arms have.
    """
    here, there = _places(claim)
    levels = {k: v for k, v in (claim["where"] | shared_levels(claim)).items() if k not in here}
    condition = condition_text(levels) if shared else ""
    both = f" (both with {condition})" if condition else ""
    against = " against ".join(arm_names(claim)) + both
    if not there:
        return f"{against}: {{}}"
    if not here:
        return f"{against}: {{}} compared with the same difference with {in_sentence(there)}"
    if not shared:  # the shortest wording
        return f"{against}, with {in_sentence(here)} minus with {in_sentence(there)}: {{}}"
    both_places = f"with {in_sentence(here)} minus that with {in_sentence(there)}"
    return f"{against}: the difference {both_places} is {{}}"


def _places(claim: Claim) -> tuple[Levels, Levels]:
    """Return the two settings whose differences an interaction compares, as levels.

    Both are {} if the claim is no interaction.
    """
    where = claim["where"]
    there = {k: v for k, v in claim["minus"].items() if where.get(k, ...) != v}
    return {k: v for k, v in where.items() if k in there}, there


def _points(unit: Metric) -> str:
    return "" if unit.unit in ("", "points", "proportion", "count") else f" ({unit.unit})"


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
    digits = unit.digits if plain else None
    bounds = [unit.say(end) if digits is None else f"{end:,.{digits}f}" for end in (low, high)]
    return f"{percent(level)} % CI {' to '.join(bounds)}"


def _runs(answer: Answer, *, brief: bool) -> str:
    """Return the numbers of seeds and of test sentences of an estimate, as text."""
    seeds = counted(answer["pairs"], "paired seed")
    sentences = answer.get("sentences")
    return f"{seeds}, {sentences:,} sentences" if sentences and not brief else seeds


def _margin(claim: Claim, answer: Answer, *, brief: bool = False) -> str:
    """Return a sentence on which differences matter, according to the margin of the claim.

    If Holm's correction for several claims changes the decision, the text says so. If the answer is
    withheld, the sentence states only the reason for that. If `brief`, the wording is shorter, and
    the margin has no unit.
    """
    if "withheld" in answer:
        return f"{'Undecided' if brief else 'The answer is left open'}, since {answer['withheld']}."
    name, margin = unit_of(claim).name, claim["margin"]
    size = unit_of(claim).say(margin) if margin >= MILLION else f"{margin:g}"
    bound = size if brief or len(name.split()) > SHORT else f"{size} {name}"
    rule = _rule(claim, bound, brief=brief) if margin else ""
    if not margin and "rates" not in answer and not brief:
        rule = "Any difference counts."
    if "uncorrected" not in answer:
        return rule
    lost_refutation = answer["verdict"] == SUPPORTED and answer["uncorrected"].startswith(REFUTED)
    weaker = LARGER if lost_refutation else WEAKER[answer["grade"]]
    return f"{rule} {BRIEF_HOLM if brief else HOLM}, {weaker}.".strip()


def _rule(claim: Claim, bound: str, *, brief: bool) -> str:
    """Return a sentence on which differences matter (for a trend: which slopes).

    Args:
        claim: the claim.
        bound: the margin of the claim as text, with or without its unit.
        brief: whether the wording is shorter.
    """
    end = "matter" if brief else "count as large enough to matter"
    if claim["kind"] in ("equivalence", "non_inferiority"):
        return f"Differences within {bound} do not matter."
    if claim["kind"] != "trend":
        return f"Differences {'above' if brief else 'of more than'} {bound} {end}."
    if claim["scale"] == "log_log":
        sign = direction(claim)
        return f"Powers {'above' if sign > 0 else 'below'} {sign * claim['margin']:g} {end}."
    return f"Slopes steeper than {bound} {end}."


def _outlook(claim: Claim, answer: Answer) -> list[str]:
    """Return a list with a sentence on how many seeds would decide a claim.

    The standard deviation is assumed to stay as measured. The list is empty if the claim is
    decided, or if seeds cannot be planned.
    """
    planned = [*(answer["seeds_needed"] or {}).values()]
    if answer["verdict"] != INCONCLUSIVE or not planned:
        return []
    more = [plan for plan in planned if plan["seeds"] and plan["seeds"] > answer["pairs"]]
    if not more:
        reason = kind_of(claim).beyond_most_seeds
        numbered = any(plan["seeds"] for plan in planned)
        return [] if numbered else [f"{reason[0].upper()}{reason[1:]}."]
    fewest = min(more, key=lambda plan: cast(int, plan["seeds"]))
    return [f"About {fewest['seeds']:,} seeds would show {_planned(claim, fewest['effect'])}."]


def _planned(claim: Claim, effect: float) -> str:
    """Return a phrase for the true effect for which seeds are planned."""
    if claim["kind"] in ("equivalence", "non_inferiority") and not effect:
        return "that the arms are equal, if they are"
    if claim["kind"] == "stability":
        return f"a true difference of {100 * effect:.0f} percentage points"
    what = "slope" if claim["kind"] == "trend" else "difference"
    return f"a true {what} of {unit_of(claim).say(effect)}"


def _rates(claim: Claim, answer: Answer) -> list[str]:
    """Return the numbers of failed runs in both arms of a stability claim, as a single wording."""
    arms = arm_names(claim)
    if claim["better"] == "lower":  # then the rates of the baseline come first
        arms.reverse()
    counts = zip(answer["rates"], arms, strict=True)
    name = claim_metric(claim).name.removesuffix(" runs")
    runs = listed([f"{n} of {of} runs with {arm}" for (n, of), arm in counts])
    condition = condition_text(claim["where"] | shared_levels(claim))
    return [f"with {condition}, {runs} {name}" if condition else f"{runs} {name}"]


def failures(claim: Claim, answer: Answer) -> str:
    """Return a phrase on how many runs of each arm failed to learn; "" if none did.

    The arm with the most failed runs comes first.
    """
    counts = sorted(answer.get("failed_to_learn", {}).items(), key=lambda item: -item[1]["runs"])
    if not counts or not counts[0][1]["runs"]:
        return ""
    shared = {} if claim["minus"] else claim["where"] | shared_levels(claim)
    levels = [claim["where"] | claim["treatment"], claim["where"] | claim["baseline"]]
    levels += [arm | claim["minus"] for arm in levels]
    distinct = [{k: v for k, v in arm.items() if k not in shared} for arm in levels]
    words = {
        arm_label(arm): in_sentence(names) for arm, names in zip(levels, distinct, strict=True)
    }
    (worst, most), *rest = [(words.get(arm) or arm, count) for arm, count in counts]
    condition = f"With {condition_text(shared)}, " if condition_text(shared) else ""
    first = f"{condition}{most['runs']} of {most['of']} runs with {worst} {LEARNED_NOTHING}"
    rates = [f"{count['runs']} of {count['of']}" for _, count in rest]
    other_arms = [f"{rate} with {arm}" for rate, (arm, _) in zip(rates, rest, strict=True)]
    if len(rates) > 1 and len({*rates}) == 1:
        other_arms = [f"{rates[0]} in each other arm"]
    return f"{first}, against {listed(other_arms)}" if other_arms else first


def claim_metric(claim: Claim) -> Metric:
    """Return the metric of a claim, with the name that the study gives it in the key `measures`."""
    return metric_in_words(claim["metric"], claim.get("measures"))
