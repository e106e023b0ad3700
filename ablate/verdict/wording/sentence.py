"""The one sentence of a verdict: effect, interval, seeds, margin, verdict, and what is missing."""

import math

from ablate.evidence.types import Claim, Failures
from ablate.metric.table import Metric, metric_in_words
from ablate.phrases import listed
from ablate.record.label import say
from ablate.stats.rates import Rates
from ablate.verdict.control import Control
from ablate.verdict.decision import INCONCLUSIVE, SUPPORTED, Decision
from ablate.verdict.exact import Exact
from ablate.verdict.kind import kind_of
from ablate.verdict.kind.base import Plan, Tested
from ablate.verdict.sides import names
from ablate.verdict.trained import TrainedValue

PER = {"linear": "per unit of", "log": "per doubling of", "log_log": "as a power of"}


def of_cases(claim: Claim, found: Exact) -> str:
    """The sentence of an exact claim."""
    counted = len(found.counted)
    if not counted:
        still = "its control did not move" if found.cases else "there is none"
        return f"{_what(claim)}: no case counts, {still}: {found.verdict}."
    left = len(found.cases) - counted
    out = f", {left} more do not count (control at rest or not measured)" if left else ""
    worst = f"{'smallest' if claim['margin'] else 'largest'} deviation {found.worst:.3g}"
    return (
        f"{_what(claim)} is {_place(claim)} in {_held_in(found)} "
        f"({worst}{out}){_could_fail(claim, found)}: {found.verdict}."
    )


def _held_in(found: Exact) -> str:
    """In how many random draws an exact claim holds; of cases that break it the worst is known."""
    counted = len(found.counted)
    cases = f"{counted - found.broken} of {counted} case{'s' * (counted != 1)}"
    if not found.draws:
        return cases
    if found.broken:
        return f"{cases}, each the worst of {found.draws:,} random draws"
    draws = f"{counted * found.draws:,}"
    return f"{draws} of {draws} random draws" + (f", in {counted} cases" if counted > 1 else "")


def of_trained(claim: Claim, found: TrainedValue, decision: Decision) -> str:
    """The sentence of an exact claim about trained models, whose values vary between seeds."""
    holding = f"in {found.holding} of {found.pairs} seeds"
    low, high = found.interval(1 - 2 * claim["alpha"])
    level = f"{1 - 2 * claim['alpha']:.0%} interval"
    interval = "too few seeds for an interval"
    if math.isfinite(high):
        interval = f"{level} [{low:.3g}, {high:.3g}]"
    mean = f"mean {found.effect:.3g}, {interval}"
    return f"{_what(claim)} is {_place(claim)} {holding} ({mean}): {decision}."


def _could_fail(claim: Claim, found: Exact) -> str:
    """What shows that the check of a claim that holds could have failed, if anything does."""
    if found.verdict != SUPPORTED:
        return ""
    if found.control is not None:
        control = claim.get("control_measures") or "its control"
        return f"; the check can fail: {control} is at least {found.control:.3g}"
    if found.elsewhere:
        arm, distance = found.elsewhere
        return f"; the check can fail: with {arm} the deviation is {distance:.3g}"
    return "; no run shows that the check could have failed"


def _place(claim: Claim) -> str:
    """Where every value of an exact claim must lie."""
    if claim["margin"]:
        return f"at least {claim['margin']:g} from 0"
    if claim["better"] == "lower":
        return f"at most {claim['tolerance']:g}"
    return f"within {claim['tolerance']:g} of 0" if claim["tolerance"] else "0"


def of_effect(claim: Claim, found: Tested, decision: Decision, held: Control | None) -> str:
    """The sentence of a claim about a difference or a slope."""
    if math.isnan(found.effect):
        missing = f"no pair of runs with the same seed has ended with {claim['metric']}"
        return f"{_what(claim)}: {missing}: {decision}."
    unit = _unit(claim)
    what = f"{_what(claim)}: {unit.say(found.effect, sign=True)} {unit.name} {_span(claim, found)}"
    beside = f" ({_control(claim, held)})" if kind_of(claim).controlled else ""
    return f"{what} {_over(found)}, margin {claim['margin']:g}: {decision}{beside}."


def _control(claim: Claim, held: Control | None) -> str:
    """Whether an arm of the same runs loses more than the margin."""
    if held is None:
        return "no control"
    loss = f"{_unit(claim).say(held.effect, sign=True)} {_ends(claim, held.interval)}"
    return f"control {held.arm}: {loss}" if held.loses else f"no control: {held.arm} {loss}"


def _span(claim: Claim, found: Tested) -> str:
    """The interval; for equivalence that of its two one-sided tests too."""
    ends = found.interval(1 - claim["alpha"])
    if math.isinf(ends[0]):
        return "(no interval)"
    if SUPPORTED not in kind_of(claim).whole:
        return _ends(claim, ends)
    level = 1 - 2 * claim["alpha"]
    return f"{_ends(claim, ends)} ({level:.0%}: {_ends(claim, found.interval(level))})"


def _ends(claim: Claim, ends: tuple[float, float]) -> str:
    return f"[{', '.join(_unit(claim).say(end, sign=True) for end in ends)}]"


def of_failures(claim: Claim, failed: dict[str, Failures], decision: Decision) -> str:
    """The sentence of a claim that the rates of failing to learn decide."""
    return f"{_what(claim)}: {_counts(failed)} failed to learn, which decides: {decision}."


def left_out(failed: dict[str, Failures]) -> str:
    """What happened to pairs without a score; a sentence after a space, "" where there are none."""
    if not any(arm["runs"] for arm in failed.values()):
        return ""
    return (
        f" {_counts(failed)} failed to learn; their pairs are left out of the mean, and the rates "
        "do not decide."
    )


def _counts(failed: dict[str, Failures]) -> str:
    arms = [f"{count['runs']} of {count['of']} runs of {arm}" for arm, count in failed.items()]
    return listed(arms)


def outlook(claim: Claim, detectable: float | None, plans: dict[str, Plan]) -> str:
    """What an inconclusive design could have seen, and how many seeds would see what is named."""
    if detectable is None:
        return "What such a design can see is not known without a spread between seeds."
    unit = _unit(claim)
    seen = f"{unit.say(detectable)} {unit.name}".rstrip()
    if kind_of(claim).controlled:
        first = f"With 80 % power this design would declare equal arms equivalent at ±{seen}"
    else:
        first = f"With 80 % power this design would detect a true effect of {seen}"
    if not plans:
        return f"{first}; no effect is named for which seeds could be planned."
    needed = [
        f"{side} takes {_seeds(plan)} where the true effect is {unit.say(plan.effect)}"
        for side, plan in plans.items()
    ]
    return f"{first}; with the noise as measured, {listed(needed)}."


def _seeds(plan: Plan) -> str:
    if plan.seeds is None:
        return "more test sentences, not seeds,"
    return f"{plan.seeds} seeds"


def sentence(
    claim: Claim,
    found: Tested,
    decision: Decision,
    detectable: float | None,
    plans: dict[str, Plan],
    held: Control | None,
) -> str:
    """The verdict in words."""
    said = of_effect(claim, found, decision, held)
    if decision.status != INCONCLUSIVE:
        return said
    return f"{said} {outlook(claim, detectable, plans)}"


def _unit(claim: Claim) -> Metric:
    known = metric_in_words(claim["metric"], claim.get("measures"))
    if claim["kind"] == "trend" and claim["scale"] == "log_log":
        return Metric("(exponent)", "", 3)
    name = known.name if known.unit in ("", "points", "share", "count") else known.axis
    return Metric(name, known.unit, known.digits)


def _what(claim: Claim) -> str:
    """What is compared, under which levels; the better direction stands first."""
    where = f"With {say(claim['where'])}, " if claim["where"] else ""
    arms = names(claim) if claim["kind"] != "trend" else []
    metric = metric_in_words(claim["metric"], claim.get("measures")).name
    if claim["kind"] == "trend":
        what = f"slope {PER[claim['scale']]} {claim['over']}"
        what += "" if claim["better"] == "higher" else ", sign turned as lower is better"
    elif not arms:
        what = metric
    else:
        turned = claim["better"] == "lower" and claim["kind"] != "exact"
        what = " - ".join(reversed(arms) if turned else arms)
        what += f" in {metric}" if claim["kind"] == "exact" else ""
    if claim["minus"]:
        what = f"({what}) minus the same with {say(claim['minus'])}"
    return where + what


def _over(found: Tested) -> str:
    if isinstance(found, Rates):
        return f"({found.first} of {found.of_first} against {found.second} of {found.of_second})"
    seeds = f"over {found.pairs} seed{'s' * (found.pairs != 1)}"
    return f"{seeds} and {found.sentences} {found.units}" if found.sentences else seeds
