"""Judge a study in stages: after some of its seeds, and after some of its training steps.

`study.looks: 3` runs a sweep in three stages and judges after each. A claim is over if it is
decided, or if it is unlikely to be decided: if the conditional power of both decisions, given the
trend so far, is below 10 %. Stopping for a low conditional power is non-binding: alpha is spent as
if no claim stopped for this reason (ablate.stats.spending). An arm stops when every claim that uses
it is over. An exact claim (a condition that must hold in every case) keeps no arm running, because
it is not decided by a statistical test that needs more seeds.

If the runs of a study are tested at two budgets, the verdict of a claim is the verdict at the long
budget. The verdict at the short budget is stored under the key `short`, with the number of steps
that the baseline needs to reach the treatment's score at the short budget. The claim is judged
separately at each budget: the two verdicts share runs, but answer different questions.

For each seed, the needed number is the step at which the validation nll of the baseline's long run
has fallen to the nll of the treatment at the short budget, interpolated between two validations. A
run that never reaches this nll is censored: it needs more than the long budget. The result is the
median over the seeds, with the interval that inverts the sign test. The ends of this interval are
two order statistics, so that censored seeds are allowed.

Source: Lan, Simon & Halperin 1982, Sequential Analysis 1, 207 (conditional power); Conover 1999,
Practical Nonparametric Statistics, section 3.2 (interval of a quantile).
What differs: nothing.
What to expect: at least the nominal coverage for any distribution. Fewer than 6 seeds have no .95
    interval. A target that is reached before the first validation counts as reached there.
"""

import math
import statistics
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

from scipy.special import ndtr, ndtri

from ablate.errors import UserError
from ablate.evidence.folder import Evidence
from ablate.evidence.looks import ENOUGH, planned_looks
from ablate.evidence.outcome import VAL_NLL, Number, first_at, value
from ablate.evidence.table import steps_of
from ablate.evidence.types import Answer, Claim, Entry, Levels, Study, Target, reason
from ablate.stats.spending import nominal
from ablate.stats.ties import at_most
from ablate.verdict.decision import INCONCLUSIVE, REFUTED, SUPPORTED, Decision
from ablate.verdict.floor import FEWEST, WITHOUT
from ablate.verdict.judge import Decided, Judged, decide, make_undecided
from ablate.verdict.kind import kind_of
from ablate.verdict.kind.base import Finding
from ablate.verdict.sides import has, pairs

LEAST = 4  # smallest number of seeds at the first of several interim analyses
FUTILE = 0.1  # conditional power below which a claim is not continued


def check_looks(study: Study) -> None:
    """Raise UserError if a study plans interim analyses with too few seeds."""
    looks, seeds = study.get("looks"), study["seeds"]
    if looks is None or looks == 1:
        return
    if looks < 1 or seeds < ENOUGH or planned_looks(study)[0] < LEAST:
        most = (seeds - 1) // (LEAST - 1) if seeds >= ENOUGH else 1
        allowed = f"from 1 to {most}" if most > 1 else "1"
        raise UserError(
            f"study.looks={looks} (number of analyses): with {seeds} seeds it must be {allowed}; 2 "
            f"or more need {ENOUGH} seeds, and {LEAST} of them at the first analysis"
        )


def needed(evidence: Evidence, waiting: Sequence[Claim] = ()) -> list[Levels]:
    """Judge a study, and return the levels of the arms that continue after an interim analysis.

    `waiting` has the claims that lack the runs of an arm, which count in the correction.
    """
    budgets = [evidence, *([evidence.short] if evidence.short else [])]
    return unfinished((each for budget in budgets for each in decide(budget, waiting)), evidence)


def unfinished(decided: Iterable[Decided], evidence: Evidence) -> list[Levels]:
    """Return the levels of the arms of claims that are neither decided nor unlikely to be."""
    arms: list[Levels] = []
    for finding, _, decision in decided:
        if not over(finding, decision):
            arms += [arm for arm in _arms(finding, evidence) if arm not in arms]
    return arms


def over(finding: Finding, decision: Decision) -> bool:
    """Return whether a claim needs no further seeds, because it is decided or unlikely to be."""
    return not finding.p or decision.status != INCONCLUSIVE or _futile(finding)


def conditional_power(p: float, share: float, level: float) -> float:
    """Return the probability of a decision with all seeds if the present trend continues.

    Args:
        p: one-sided p-value of the seeds so far.
        share: the seeds so far as a fraction of all seeds.
        level: one-sided level of the last analysis.
    """
    if share >= 1:
        return float(at_most(p, level))
    trend = -float(ndtri(p)) / share**0.5
    return float(ndtr((trend + float(ndtri(level))) / (1 - share) ** 0.5))


def _futile(finding: Finding) -> bool:
    if finding.result.pairs < FEWEST:
        return False  # so few pairs show no trend
    looks, alpha = finding.result.looks, finding.claim["alpha"]
    whole = kind_of(finding.claim).whole
    return all(
        conditional_power(
            nominal(finding.p[side], looks), looks[-1], alpha if side in whole else alpha / 2
        )
        < FUTILE
        for side in (SUPPORTED, REFUTED)
    )


def _arms(finding: Finding, evidence: Evidence) -> Iterable[Levels]:
    """Return the levels of every run that a claim uses, including its positive control."""
    runs, claim = finding.runs, finding.claim
    if loses := claim.get("loses"):
        arm = claim["where"] | claim["baseline"] | loses
        runs += [run for run in evidence.runs if has(run, arm)]
    return [run["levels"] for run in runs]


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
    for late, soon in zip(long, early, strict=True):
        entry, first = late.entry, soon.entry
        if entry["verdict"] != SUPPORTED:
            first = make_undecided(first, reason("not_confirmed_later"))
        answer: Any = {key: x for key, x in first.items() if key in Answer.__annotations__}
        answer["steps"] = steps_of(soon.finding.runs, "budget.short", short.regime["steps"])
        answer["time_to_target"] = time_to_target(late.finding, soon.finding)
        steps = steps_of(late.finding.runs, "budget.steps", evidence.regime["steps"])
        combined.append({**entry, "steps": steps, "learning": late.learning, "short": answer})
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
    treatment, baseline = ([run["curve"] for run in arm.every] for arm in long.sides)
    if treatment == baseline:
        return None
    steps: dict[int, list[float]] = {}
    for early, late in pairs(short.sides[0], long.sides[1]):
        with suppress(KeyError):  # the treatment has no validation at the short budget
            goal = value(early, VAL_NLL)
            if VAL_NLL in late["curve"] and late["status"] != "failed":
                curve = late["curve"]
                reached = first_at(curve["step"], curve[VAL_NLL], goal)
                steps.setdefault(early["seed"], []).append(reached)
    updates = [statistics.median(reached) for reached in steps.values()]
    if not updates:
        return None
    ends = interval(updates, claim["alpha"])
    return {
        "metric": VAL_NLL,
        "updates": _reached(statistics.median(updates)),
        "interval": ends and [_reached(end) for end in ends],
        "seeds": [*steps],
        "of_seeds": [_reached(update) for update in updates],
    }


def interval(updates: Sequence[Number], alpha: float) -> tuple[Number, Number] | None:
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
