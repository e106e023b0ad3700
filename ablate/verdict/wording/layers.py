"""Write the answer to a claim in three layers: a headline, one line of evidence, and the details.

The headline is for a reader who knows no statistics: the answer, and the claim. The evidence has
the estimate, its interval, the runs and the margin. The details (ablate.verdict.wording.details)
have every field. All layers are written from the data of a final verdict.
"""

from typing import cast

from ablate.config.labels import MEASURED, arm_label, factor_label, option_label
from ablate.evidence.types import Answer, Claim, Entry, Levels, Question, Short, Verdict
from ablate.metric.table import MILLION, Metric, metric_in_words
from ablate.phrases import in_sentence, listed
from ablate.verdict.contrast import CHANGED
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
from ablate.verdict.kind import kind_of
from ablate.verdict.wording.details import details, deviation, direction, unit_of

EVIDENCE = 40  # largest number of words; what does not fit is only in the details
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
    ("non_inferiority", SUPPORTED): "Supported: not worse by an amount that matters",
    ("non_inferiority", REFUTED): "Refuted: worse by an amount that matters",
}
SMALL_OPPOSITE = "Refuted: the other way round, but too small to matter"
PERHAPS_OPPOSITE = "Refuted: if anything, the other way round"
HOLM = "After the correction for several claims (Holm)"
BRIEF_HOLM = "After Holm's correction"
WEAKER = {  # what the correction leaves open, by the grade that remains
    DIRECTION: "the effect may be too small",
    SMALL: "the direction is uncertain",
    "": "the claim is undecided",
}
LEARNED_NOTHING = "failed to learn (they diverged or stayed near chance)"
PER = {"linear": "per unit of", "log": "per doubling of"}


def opening(claim: Question, answer: Answer | Entry | Short) -> str:
    """Return the answer to a claim in a few words, such as "Refuted: too small to matter".

    Without a margin no effect is too small. An effect in the other direction is too small if its
    whole interval lies within the margin. An effect that is refuted as too small has another
    opening if its estimate is beyond the margin in the other direction, or its whole interval is in
    the other direction.
    """
    grade, ends, margin = answer["grade"], answer["interval"], claim["margin"]
    if grade == SMALL and ends is not None and ((answer["effect"] or 0) < -margin or ends[1] < 0):
        return PERHAPS_OPPOSITE
    if grade == OPPOSITE and ends is not None and ends[0] > -margin:
        return SMALL_OPPOSITE
    if grade == DIRECTION and not margin:
        grade = ""
    return opening_of(claim["kind"], answer["verdict"], grade)


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

    For an undecided claim, the line says how many seeds would decide it. Of several wordings, the
    first that is short enough is taken.
    """
    lines = [f"{words[:1].upper()}{words[1:]}" for words in _evidence(claim, answer)]
    return next((line for line in lines if len(line.split()) <= EVIDENCE), lines[-1])


def _evidence(claim: Claim, answer: Answer) -> list[str]:
    """Return the evidence in several wordings; the first has the most information."""
    failed = _failures(claim, answer)
    if problem := answer.get("problem"):
        return [f"{problem}. {failed}.", f"{problem}."] if failed else [f"{problem}."]
    if answer.get("decided_by_failures"):
        decides = answer["verdict"] != INCONCLUSIVE
        end = "This difference decides the claim" if decides else "These runs are too few to decide"
        return [f"{failed}. {end}."]
    if claim["kind"] == "exact":
        return _exact(claim, answer)
    if answer["effect"] is None:
        return [f"no two runs with the same seed have ended with {_metric(claim).name}."]
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


def _shared(claim: Claim) -> Levels:
    """Return the levels that both arms of a claim have."""
    baseline = claim["baseline"]
    return {k: v for k, v in claim["treatment"].items() if k in baseline and baseline[k] == v}


def _condition(levels: Levels) -> str:
    """Return the levels that all arms of a claim share, as "6 layers and no warm-up".

    The result is "" if the arms share none.
    """
    return in_sentence({k: v for k, v in levels.items() if k not in MEASURED})


def _against(claim: Claim) -> list[str]:
    """Return the labels of treatment and baseline by the levels in which they differ."""
    shared = _shared(claim)
    arms = (claim["treatment"], claim["baseline"])
    return [in_sentence({k: v for k, v in arm.items() if k not in shared}) for arm in arms]


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


def _estimates(claim: Claim, answer: Answer) -> list[str]:
    """Return the effect as a change of the metric, so that a fall of a loss is negative.

    Later wordings leave out the number of sentences, then the explanation of the unit.
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
    beside = f"({_interval(ends, level, unit, sign)}; {runs})"
    named = len(unit.name.split()) > SHORT + 2  # a name too long to follow a number
    if claim["kind"] == "trend":
        condition = _condition(claim["where"] | _shared(claim))
        over, given = _over(claim), f"with {condition}, " if condition else ""
        if claim["scale"] == "log_log":
            power, verb = value.removeprefix("+"), "falls" if value[0] == "-" else "grows"
            return f"{given}{_metric(claim).name} {verb} as {over} to the power {power} {beside}"
        per = f"{PER[claim['scale']]} {over}"
        if named:
            return f"{given}slope of {unit.name}: {value} {per} {beside}"
        return f"{given}{change} {per} {beside}"
    if named:
        change = f"{value} in {unit.name}"
    shared = "shared levels" not in without
    return f"{_comparison(claim, shared=shared).format(change)} {beside}"


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
    levels = {k: v for k, v in (claim["where"] | _shared(claim)).items() if k not in here}
    condition = _condition(levels) if shared else ""
    both = f" (both with {condition})" if condition else ""
    against = " against ".join(_against(claim)) + both
    if not there:
        return f"{against}: {{}}"
    if not here:
        return f"{against}: {{}} compared with the same difference with {in_sentence(there)}"
    both_places = f"with {in_sentence(here)} minus that with {in_sentence(there)}"
    return f"{against}: the difference {both_places} is {{}}"


def _places(claim: Claim) -> tuple[Levels, Levels]:
    """Return the levels at which an interaction takes its two differences; {} without one."""
    where = claim["where"]
    there = {k: v for k, v in claim["minus"].items() if where.get(k, ...) != v}
    return {k: v for k, v in where.items() if k in there}, there


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
    return f"{rule} {BRIEF_HOLM if brief else HOLM}, {WEAKER[answer['grade']]}.".strip()


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
    """Return a sentence on how many seeds would decide an undecided claim, if there is one.

    The standard deviation is assumed to stay as measured.
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
    """Return how many runs of each arm ended in the way that the claim counts."""
    arms = _against(claim)
    if claim["better"] == "lower":  # then the baseline counts as plus
        arms.reverse()
    counts = zip(answer["rates"], arms, strict=True)
    name = _metric(claim).name.removesuffix(" runs")
    runs = listed([f"{n} of {of} runs with {arm}" for (n, of), arm in counts])
    condition = _condition(claim["where"] | _shared(claim))
    return [f"with {condition}, {runs} {name}" if condition else f"{runs} {name}"]


def _failures(claim: Claim, answer: Answer) -> str:
    """Return a phrase on how many runs of each arm failed to learn; "" if none did.

    The arm with the most failed runs comes first.
    """
    counts = sorted(answer.get("failed_to_learn", {}).items(), key=lambda item: -item[1]["runs"])
    if not counts or not counts[0][1]["runs"]:
        return ""
    shared = {} if claim["minus"] else claim["where"] | _shared(claim)
    levels = [claim["where"] | claim["treatment"], claim["where"] | claim["baseline"]]
    levels += [arm | claim["minus"] for arm in levels]
    distinct = [{k: v for k, v in arm.items() if k not in shared} for arm in levels]
    words = {
        arm_label(arm): in_sentence(names) for arm, names in zip(levels, distinct, strict=True)
    }
    (worst, most), *rest = [(words.get(arm) or arm, count) for arm, count in counts]
    condition = f"With {_condition(shared)}, " if _condition(shared) else ""
    first = f"{condition}{most['runs']} of {most['of']} runs with {worst} {LEARNED_NOTHING}"
    rates = [f"{count['runs']} of {count['of']}" for _, count in rest]
    other_arms = [f"{rate} with {arm}" for rate, (arm, _) in zip(rates, rest, strict=True)]
    if len(rates) > 1 and len({*rates}) == 1:
        other_arms = [f"{rates[0]} in each other arm"]
    return f"{first}, against {listed(other_arms)}" if other_arms else first


def _exact(claim: Claim, answer: Answer) -> list[str]:
    """Return the evidence on an exact claim in several wordings; the first is the longest.

    The evidence is the worst value that the claim restricts, with the number of cases, the limit,
    and the control (an arm or a deliberate fault with which the check must fail). If the claim is
    about trained models, the evidence is the mean over seeds.
    """
    cases = answer["cases"]
    if not cases["counted"]:
        why = "the deliberate fault did not change it" if cases["of"] else "nothing was measured"
        return [f"no case of {_measure(claim)} counts, since {why}."]
    condition = _condition(claim["where"] | _shared(claim))
    names = [_measure(claim, arms=True), _measure(claim)]
    given = [f"with {condition}, {name}" if condition else name for name in names]
    if "holding" in cases:
        means = [_mean(claim, answer, brief=brief) for brief in (False, True)]
        return [f"{name} {mean}" for name in given for mean in means]
    each = " each" if cases["counted"] > 1 else ""
    draws = f"{cases['draws']:,} random draws{each}" if cases["draws"] else ""
    # a deviation of 0 is always allowed
    shortest = "" if answer["effect"] == 0 else _allowed(claim, brief=True)
    limits = [(draws, _allowed(claim)), ("", _allowed(claim)), ("", shortest)]
    worst = [_worst(claim, answer, drawn, allowed) for drawn, allowed in limits]
    control = _control(claim, answer)
    plain = [f"{name} {value}." for name in given for value in worst]
    if not control:
        return plain
    return [*(f"{name} {value}. {control}" for name in given + names for value in worst), *plain]


def _measure(claim: Claim, *, arms: bool = False) -> str:
    """Return the name of the value that an exact claim restricts.

    If `arms`, the name of a difference says between which arms.
    """
    name = claim.get("measures") or f"the metric {_metric(claim).name}"
    is_difference = not claim["treatment"] or claim["metric"].endswith(CHANGED)
    between = f" between {' and '.join(_against(claim))}" if arms else ""
    return name if is_difference else f"the difference in {name}{between}"


def _worst(claim: Claim, answer: Answer, drawn: str, allowed: str) -> str:
    """Return the worst value over the cases of an exact claim as a verb phrase.

    Args:
        claim: the exact claim.
        answer: its result.
        drawn: the number of random draws of each case, or "".
        allowed: the values that the claim allows.
    """
    cases, value = answer["cases"], deviation(answer["effect"]) or "NaN"
    counted, broken = cases["counted"], cases["broken"]
    if counted == 1:
        return f"was {value}{_notes(drawn, allowed)}"
    where = "both cases" if counted == 2 else f"all {counted} cases"
    if not broken:
        bound = f"at {'least' if claim['margin'] else 'most'} " if answer["effect"] else ""
        return f"was {bound}{value} in {where}{_notes(drawn, allowed)}"
    if broken < counted:
        where = f"{broken} of {counted} cases"
    if claim["margin"]:
        notes = _notes(f"as low as {value}", drawn)
        return f"was below the required {claim['margin']:g} in {where}{notes}"
    if claim["tolerance"]:
        notes = _notes(f"up to {value}", drawn)
        return f"was above the allowed {claim['tolerance']:g} in {where}{notes}"
    return f"differed from 0 in {where}{_notes(f'by up to {value}', drawn, allowed)}"


def _notes(*notes: str) -> str:
    """Return notes in brackets after a space; "" without notes."""
    words = [note for note in notes if note]
    return f" ({'; '.join(words)})" if words else ""


def _mean(claim: Claim, answer: Answer, *, brief: bool) -> str:
    """Return a verb phrase, and sentences, on the mean over seeds of the value that an exact claim
    about trained models restricts.

    If `brief`, the wording is shorter.
    """
    value, seeds, allowed = deviation(answer["effect"]), answer["pairs"], _allowed(claim)
    if answer["interval"] is None:
        line = f"was {value} in each of {seeds} seeds ({allowed})."
        if seeds == 1:
            line = f"was {value} with a single seed ({allowed})."
    else:
        ends = _interval(answer["interval"], 1 - 2 * claim["alpha"], unit_of(claim), 1)
        notes = [ends, *([] if brief else [f"{seeds} seeds"]), allowed]
        line = f"was {value} on average ({'; '.join(notes)})."
    if "uncorrected" in answer:
        return f"{line} {BRIEF_HOLM if brief else HOLM}, {WEAKER['']}."
    if answer["interval"] is None and answer["verdict"] == INCONCLUSIVE:
        return f"{line} These seeds are too few to decide."
    return line


def _allowed(claim: Claim, *, brief: bool = False) -> str:
    """Return a phrase for the values that an exact claim allows; without a verb if `brief`."""
    if claim["margin"]:
        size = f"{claim['margin']:g}"
        return f"minimum {size}" if brief else f"at least {size} is needed"
    if not claim["tolerance"]:
        return "it must be 0"
    size = f"{claim['tolerance']:g}"
    return f"limit {size}" if brief else f"at most {size} is allowed"


def _control(claim: Claim, answer: Answer) -> str:
    """Return a sentence with the evidence that the check of a supported claim could have failed.

    The control of a claim with a margin shows a response, and not a failure.
    """
    cases = answer["cases"]
    if answer["verdict"] != SUPPORTED:
        return ""
    if cases["control"] is not None:
        control = claim.get("control_measures") or claim["control"].replace("_", " ")
        opening = "For comparison," if claim["margin"] else "The check can fail:"
        return f"{opening} {control} gave at least {deviation(cases['control'])}."
    if "elsewhere" in cases:
        arm, distance = cases["elsewhere"]
        only = "only " if claim["margin"] else ""
        return f"The check can fail: with {arm}, it was {only}{deviation(distance)}."
    return "No run shows that this check can fail."


def _metric(claim: Claim) -> Metric:
    return metric_in_words(claim["metric"], claim.get("measures"))
