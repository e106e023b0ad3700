"""Check whether a claim could have had more than one answer.

There is only one possible answer if every arm failed to learn, if the claim is about the learned
behaviour of an arm that failed to learn, if the range of the metric is smaller than the margin, or
if two arms compute the same numbers. Such a claim is undecided, and its verdict states the reason.
"""

import statistics
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from ablate.config.labels import arm_label
from ablate.evidence.folder import Evidence
from ablate.evidence.outcome import value
from ablate.evidence.types import Claim, ControlOutcome, Reason, reason
from ablate.metric.table import METRICS, Metric
from ablate.stats.ties import above, at_most
from ablate.verdict.contrast import contrast
from ablate.verdict.floor import nothing_learned, unlearned
from ablate.verdict.sides import Side

AT_BEST = 0.01  # fraction of the metric's range within which an arm counts as at the best value
BETTER = ("superiority", "trend")
SAME = ("equivalence", "non_inferiority")
NO_DIFFERENCES = np.empty(0)


def one_way(
    claim: Claim,
    arms: Sequence[Side],
    evidence: Evidence,
    differences: Float[np.ndarray, " seeds"] = NO_DIFFERENCES,
) -> Reason | None:
    """Return the reason why a claim can have only one answer; None if several answers are possible.

    Args:
        claim: the claim.
        arms: the arms that the claim compares, with their runs.
        evidence: the evidence of the study.
        differences: the paired differences between the arms.
    """
    # the metrics of a table are not known, and neither are their floors and best values
    rules = () if "design" in claim else (nothing_learned, unlearned, _no_room)
    reasons = (rule(claim, arms, evidence) for rule in rules)
    return next(filter(None, reasons), None) or _identical(claim, differences)


def _identical(claim: Claim, differences: Float[np.ndarray, " seeds"]) -> Reason | None:
    """Return why a claim has only one answer, if its arms compute the same numbers; else None.

    The result is also None for claims that two arms are the same (equivalence, non-inferiority),
    because equal numbers are evidence for such a claim.
    """
    if claim["kind"] not in BETTER or not len(differences) or differences.any():
        return None
    return reason("identical", metric=claim["metric"], measures=claim.get("measures", ""))


def _no_room(claim: Claim, arms: Sequence[Side], evidence: Evidence) -> Reason | None:
    """Return why a claim has only one answer, if the metric's range leaves no room for the margin:
    the baseline is within the margin of the best value that it should fall short of, or of the
    value without learning, or both arms are at the best value. Else return None.
    """
    metric = METRICS.get(claim["metric"].rpartition("/")[2])
    if not metric or not claim["margin"] or claim["minus"] or claim["kind"] == "trend":
        return None
    treatment, baseline = (_mean(side, claim["metric"]) for side in arms)
    if treatment is None or baseline is None:
        return None
    if claim["kind"] in BETTER and not claim.get("cannot"):
        return _nothing_to_gain(claim, metric, treatment, baseline)
    if claim["kind"] in SAME and isinstance(metric.wrong, float):
        usual = claim["better"] == metric.better
        less = _less("an untrained model", claim, abs(baseline - metric.wrong)) if usual else None
        return less or _at_ceiling(claim, metric, (treatment, baseline), evidence)
    return None


def _nothing_to_gain(
    claim: Claim, metric: Metric, treatment: float, baseline: float
) -> Reason | None:
    """Return the reason that both arms are within the margin of the best value, else None. If only
    the baseline is so near the best value, the treatment is worse, which is another answer.
    """
    best = metric.best if claim["better"] == metric.better else None
    if best is None or not at_most(abs(best - treatment), claim["margin"]):
        return None
    return _less("a perfect model", claim, abs(best - baseline))


def _at_ceiling(
    claim: Claim, metric: Metric, means: tuple[float, float], evidence: Evidence
) -> Reason | None:
    """Return the reason that both arms are at the best value of the metric, else None; also None if
    a control arm shows that these runs could have shown a loss.
    """
    best, wrong = metric.best, metric.wrong
    if best is None or not isinstance(wrong, float):
        return None
    near = AT_BEST * abs(best - wrong)
    if any(above(abs(best - mean), near) for mean in means):
        return None
    shown = control(claim, evidence)
    return None if shown and shown["loses"] else reason("at_ceiling", metric=claim["metric"])


def _less(limit: str, claim: Claim, room: float) -> Reason | None:
    """Return the reason that the baseline is within the margin of a limit of the metric: the score
    of "a perfect model" or of "an untrained model".
    """
    if above(room, claim["margin"]):
        return None
    about = {"baseline": dict(claim["baseline"]), "metric": claim["metric"]}
    return reason("no_room", limit=limit, **about, room=room, margin=claim["margin"])


def control(claim: Claim, evidence: Evidence) -> ControlOutcome | None:
    """Return the positive control of a claim, as it is stored in verdict.json.

    The control is an arm that should lose more than the margin. If the control loses, the same runs
    could have shown the loss that the claim denies. The result is None if the claim names no
    control, or if the control has too few runs.
    """
    loses = claim.get("loses")
    if not loses:
        return None
    measure = claim["baseline"]
    paired = contrast({**claim, "treatment": measure | loses, "baseline": measure}, evidence)
    difference = paired.estimate
    if difference.pairs < 2:
        return None
    low, high = difference.interval(1 - claim["alpha"])
    return {
        "arm": arm_label(loses),
        "effect": difference.effect,
        "interval": [low, high],
        "loses": above(-claim["margin"], high, difference.scale),
    }


def _mean(side: Side, metric: str) -> float | None:
    """Return the mean of a metric over the finished runs of an arm; None if no run has it."""
    scores = [
        value(run, metric)
        for run in side.every
        if run["status"] == "finished" and isinstance(run["metrics"].get(metric), int | float)
    ]
    return statistics.fmean(scores) if scores else None
