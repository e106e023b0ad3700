"""Check whether learning had levelled off, and combine verdicts at two budgets of training steps.

Learning has levelled off if no arm gained half the margin or more in the last quarter of its steps,
by the claim's metric on the validation sentences. Then a quarter more steps would hardly change the
effect. The metric `skill` is not measured during training. Its value follows from the nll, as a
fraction of the way from chance to the lowest possible nll. Runs that diverged or collapsed do not
count. A claim that an arm *cannot* do something is not supported while an arm is still learning.

If the runs of a study are tested at two budgets, the verdict of a claim is the verdict at the long
budget. The verdict at the short budget is stored under the key `short`, with the number of steps
that the baseline needs to reach the treatment's score at the short budget. The claim is judged
separately at each budget: the two verdicts share runs, but answer different questions.

For each seed, the needed number is the step at which the validation nll of the baseline's long run
has fallen to the nll of the treatment at the short budget, interpolated between two validations. A
run that never reaches this nll is censored: it needs more than the long budget. The result is the
median over the seeds, with the interval that inverts the sign test. The ends of this interval are
two order statistics, so that censored seeds are allowed.

Source: Conover 1999, Practical Nonparametric Statistics, section 3.2 (interval of a quantile).
What differs: nothing.
What to expect: at least the nominal coverage for any distribution. Fewer than 6 seeds have no .95
    interval. A target that is reached before the first validation counts as reached there.
"""

import math
import statistics
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any, cast

import numpy as np

from ablate.config.labels import arm_label
from ablate.evidence.folder import Evidence
from ablate.evidence.outcome import VAL_NLL, Number, first_at, value
from ablate.evidence.table import steps_of
from ablate.evidence.types import Answer, Claim, Entry, Learning, Reason, Run, Target, reason
from ablate.metric.table import metric_of
from ablate.stats.ties import at_most
from ablate.verdict.decision import INCONCLUSIVE, SUPPORTED
from ablate.verdict.floor import nothing_learned
from ablate.verdict.kind.base import Finding, Judged
from ablate.verdict.sides import Side, pairs

QUARTER = 0.25
UNJUDGED = ("exact", "stability")  # kinds of claims that do not depend on the quality of a model
SKILL = "val/skill"
WITHOUT = ("exact", "stability", "trend")  # kinds that do not compare the losses of two models


def learning(claim: Claim, arms: Sequence[Side], evidence: Evidence) -> Learning:
    """Return the gain of every arm in the last quarter of training, and the arms still learning.

    The result has the form of verdict.json. It has no gains for a claim without a margin, an exact
    claim, a claim of stability, or a trend on a log-log scale. It also has no gains if the metric
    is not measured at validations, or if no arm is better than a model that has learned nothing.
    """
    log = claim["kind"] == "trend" and claim["scale"] == "log_log"
    metric = f"val/{claim['metric'].rpartition('/')[2]}"
    asked = claim["kind"] not in UNJUDGED and not log and claim["margin"]
    if not asked or nothing_learned(claim, arms, evidence):
        return {"metric": metric, "gains": {}, "still": []}
    better = metric_of(metric).better or claim["better"]  # equality has no better side
    sign = 1 if better == "higher" else -1
    by_arm = {arm_label(side.levels): _gains(side.every, metric) for side in arms}
    gains = {name: sign * statistics.fmean(of_arm) for name, of_arm in by_arm.items() if of_arm}
    still = [name for name, gain in gains.items() if at_most(claim["margin"] / 2, gain)]
    return {"metric": metric, "gains": gains, "still": still}


def check_cannot(finding: Finding, entry: Entry, evidence: Evidence) -> Entry:
    """Return the result of a claim, undecided if longer training might refute the claim.

    Only a supported claim with the key `cannot`, which says that an arm cannot do something,
    becomes undecided: if an arm may still have been improving at the end of training.
    """
    if not finding.claim.get("cannot"):
        return entry
    state = learning(finding.claim, finding.sides, evidence)
    flat = state["gains"] and not state["still"]
    return entry if flat else make_undecided(entry, reason("still_learning"))


def make_undecided(entry: Entry, why: Reason) -> Entry:
    """Return the result of a claim, undecided if it supports that an arm *cannot* do something.

    Args:
        entry: the claim in the form of verdict.json.
        why: the reason, which is stored in the result.
    """
    if not entry.get("cannot") or entry["verdict"] != SUPPORTED:
        return entry
    nothing: Any = {"grade": "", "sensitivity": [], "p_look": {}}  # no test is decisive any more
    undecided: Any = {**entry, **nothing, "verdict": INCONCLUSIVE, "withheld": why}
    return cast(Entry, undecided)


def _gains(runs: Iterable[Run], metric: str) -> list[float]:
    """Return the gain in the last quarter of the steps, for each finished run with a curve of this
    metric: the last value minus the interpolated value at three quarters of the steps.
    """
    gains = []
    for run in (run for run in runs if run["status"] == "finished"):
        steps, values = run["curve"].get("step", []), _curve(run, metric)
        if len(steps) > 1 and len(values) == len(steps) and None not in values:
            x, y = np.array(steps, float), np.array(values, float)
            gains.append(float(y[-1] - np.interp((1 - QUARTER) * x[-1], x, y)))
    return gains


def _curve(run: Run, metric: str) -> Sequence[float | None]:
    """Return the values of a metric at every validation of a run; [] if there are none."""
    if metric != SKILL:
        return run["curve"].get(metric, [])
    chance, bound = (run["metrics"].get(f"{level}/nll") for level in ("chance", "bound"))
    if chance is None or bound is None or chance == bound:
        return []
    nll = run["curve"].get("val/nll", [])
    return [None if x is None else (x - chance) / (bound - chance) for x in nll]


def both(
    long: Sequence[Judged], early: Sequence[Judged], evidence: Evidence, short: Evidence
) -> list[Entry]:
    """Return the claims of verdict.json with their results at the long and at the short budget.

    The result at the short budget (after the short number of training steps) is in the key `short`.
    A supported claim that an arm *cannot* do something becomes undecided there if longer training
    does not confirm the claim: the arm may only have been too slow.

    Args:
        long: the judged claims after the full number of training steps.
        early: the judged claims after the short number of training steps.
        evidence: the runs after the full number of training steps.
        short: the runs after the short number of training steps.
    """
    combined: list[Any] = []
    for (late, entry), (soon, first) in zip(long, early, strict=True):
        if entry["verdict"] != SUPPORTED:
            first = make_undecided(first, reason("not_confirmed_later"))
        answer: Any = {key: x for key, x in first.items() if key in Answer.__annotations__}
        answer["steps"] = steps_of(soon.runs, "budget.short", short.regime["steps"])
        answer["time_to_target"] = time_to_target(late, soon)
        steps = steps_of(late.runs, "budget.steps", evidence.regime["steps"])
        gained = learning(late.claim, late.sides, evidence)
        combined.append({**entry, "steps": steps, "learning": gained, "short": answer})
    return combined


def time_to_target(long: Finding, short: Finding) -> Target | None:
    """Return the steps that the baseline needs to reach the treatment's nll, as in verdict.json.

    In place of a number of steps, None means more steps than the long budget. The whole result is
    None if the claim does not compare two arms, if both arms have the same training runs, or if no
    run was validated.

    Args:
        long: the result of the claim at the long budget.
        short: its result after the short number of training steps.
    """
    claim = long.claim
    if claim["kind"] in WITHOUT or claim["minus"] or not claim["baseline"]:
        return None
    treatment, baseline = long.sides
    curves = [[run["curve"] for run in arm.every] for arm in (treatment, baseline)]
    if curves[0] == curves[1]:
        return None
    steps: dict[int, list[float]] = {}
    for early, late in pairs(short.sides[0], baseline):
        with suppress(KeyError):  # the treatment has no validation at the short budget
            goal = value(early, VAL_NLL)
            if VAL_NLL in late["curve"] and late["status"] != "failed":
                curve = late["curve"]
                reached = first_at(curve["step"], curve[VAL_NLL], goal)
                steps.setdefault(early["seed"], []).append(reached)
    needed = {seed: statistics.median(reached) for seed, reached in steps.items()}
    if not needed:
        return None
    updates = [*needed.values()]
    ends = _interval(updates, claim["alpha"])
    return {
        "metric": VAL_NLL,
        "updates": _reached(statistics.median(updates)),
        "interval": ends and [_reached(end) for end in ends],
        "seeds": [*needed],
        "of_seeds": [_reached(update) for update in updates],
    }


def _interval(updates: Sequence[Number], alpha: float) -> tuple[Number, Number] | None:
    """Return the confidence interval of the median number of training steps.

    `updates` has the number for each seed. The ends of the interval are two of these numbers. The
    result is None if the seeds are too few.
    """
    ordered, n = sorted(updates), len(updates)
    from scipy import stats  # takes a second

    rank = int(stats.binom.ppf(alpha / 2, n, 0.5))
    return (ordered[rank - 1], ordered[n - rank]) if rank else None


def _reached(updates: float) -> float | None:
    return updates if math.isfinite(updates) else None
