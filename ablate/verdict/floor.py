"""Detect arms and runs that learned nothing, and claims that can have only one answer.

The floor of a metric is the score of a model that has learned nothing. If every arm of a claim is
at the floor, equal scores are no evidence for the claim, and a difference means little. Exceptions
are claims about runs that fail, and metrics that need no learning, such as the number of
parameters.

A run that diverged, collapsed, stayed at the floor of its metric or is stuck on a plateau has no
meaningful score. Its seed is left out of the mean. If the arms fail at clearly different rates, the
rates decide a claim about quality: the arm that fails less often is better. Both tests are
one-sided. If some run failed, the rates and the mean each have half of alpha (Bonferroni), and the
mean decides if the rates do not. If no distribution of the failed runs between the arms could be
significant, the mean has all of alpha (after Tarone 1990: a test that cannot reject costs nothing).

Learning has levelled off if no arm gained half the margin (without a margin, half the effect) or
more in the last quarter of its steps, by the claim's metric on the validation sentences. The metric
`skill` is not measured during training. Its value follows from the nll, as a fraction of the way
from chance to the lowest possible nll. Runs that diverged or collapsed do not count.

Source: Barnard 1945 for the test (ablate.stats.rates); Clopper & Pearson 1934 for the interval.

A claim can have only one answer if every arm failed to learn, if it is about the learned behaviour
of an arm that failed to learn, if the range of the metric is smaller than the margin, or if two
arms compute the same numbers. Such a claim is undecided, and its verdict states the reason.
"""

import statistics
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from jaxtyping import Float

from ablate.config.labels import arm_label
from ablate.config.study import Claim
from ablate.evidence.folder import Evidence
from ablate.evidence.outcome import (
    NOT_LEARNED,
    UNSTABLE,
    UNTRAINED,
    UNTRAINED_BLEU,
    Reason,
    Run,
    reason,
    value,
)
from ablate.metric import METRICS, Metric, metric_of
from ablate.stats import above, at_most, difference
from ablate.stats.corrections import Fractions
from ablate.stats.rates import Rates, share_interval
from ablate.verdict.sides import Side
from ablate.verdict.types import ControlOutcome, Failures, Learning

INITIAL = "initial"  # value of `weights` that tests the weights before training
SPLITS = ("train", "val", "test")
OF_TRAINING = ("train", "gap")  # metrics of training sentences, and of the gap to unseen sentences
# A run with less than this fraction of the best gain of its arm is stuck. A run whose nll on its
# training sentences is below this fraction of the unigram model's nll has memorised them.
PLATEAU = 0.5
LEVEL = 0.9  # confidence level of the exact interval of a rate
NO_WEIGHT = 1e-9  # relative size below which a weight is a rounding error of 0
FEWEST = 2  # smallest number of learned pairs for a verdict on their mean
QUARTER = 0.25
SKILL = "val/skill"
# metrics without a floor
UNLEARNED = (*UNTRAINED, "gap", "gradient")
AT_BEST = 0.01  # fraction of the metric's range within which an arm counts as at the best value
BETTER = ("superiority", "trend")
SAME = ("equivalence", "non_inferiority")
Control = Callable[[], ControlOutcome | None]


def nothing_learned(claim: Claim, arms: Sequence[Side], evidence: Evidence) -> Reason | None:
    """Return the reason why a claim cannot be judged, if none of its arms has learned anything.

    An arm has learned if it is better than a model that has learned nothing. The result is None if
    an arm has learned.
    """
    if claim["metric"].partition("/")[0] in UNLEARNED:
        return None
    if not arms or not all(_failed_to_learn(arm, claim["metric"], evidence) for arm in arms):
        return None
    return reason("nothing_learned", metric=claim["metric"], measures=claim.get("measures", ""))


def arms_not_learned(claim: Claim, arms: Sequence[Side], evidence: Evidence) -> Reason | None:
    """Return the reason why a claim is undecided if arms failed to learn the task, else None.

    A claim about a score, such as BLEU, may compare an arm that learned with an arm that did not,
    because the failure may be the effect. All other claims presuppose that the arms learned: claims
    about measurements inside a model, about interactions, and about no loss of quality against a
    baseline (equivalence and non-inferiority).
    """
    place = claim["metric"].partition("/")[0]
    if place in (*UNLEARNED, "train") or claim["kind"] == "stability":
        return None
    most = 0
    if claim["minus"]:
        most = 1  # one failing arm may be the effect; with two, the difference is meaningless
    elif _indicator_of(claim["metric"]):
        arms = arms[1:] if claim["kind"] in SAME else []
    metric = claim["metric"]
    failed = [arm_label(arm.levels) for arm in arms if _failed_to_learn(arm, metric, evidence)]
    if len(failed) <= most:
        return None
    return reason("arms_not_learned", arms=failed)


def _failed_to_learn(arm: Side, metric: str, evidence: Evidence) -> bool:
    """Return whether an arm was trained, but is no better than a model that has learned nothing.

    The arm is judged by the metric, and also by BLEU. BLEU is not used for the metric `skill`, and
    if it is 0 in every run, as it is with very short answers.
    """
    if _never_trained(arm):
        return False
    split, _, name = metric.rpartition("/")
    bleu = f"{'test' if split not in SPLITS else split}/bleu"
    tells = name != "skill" and any((_above(run, bleu) or 0.0) > 0 for run in evidence.runs)
    return _at_floor(arm, metric) or (tells and _at_floor(arm, bleu))


def _never_trained(arm: Side) -> bool:
    """Return whether the runs of an arm are untrained on purpose."""
    return bool(arm.all_runs) and all(
        run["metrics"].get("steps") == 0 or run["levels"].get("weights") == INITIAL
        for run in arm.all_runs
    )


def has_learned(run: Run, metric: str, arm: Iterable[Run], recipes: Sequence[Run] = ()) -> bool:
    """Return whether a run has learned the task, so that its metric is meaningful.

    A run has not learned if it diverged or collapsed, scores no better than without learning, or is
    stuck on a plateau: its gain in nll over the unigram model is less than half of the best gain in
    its arm or, since most recipes run only once, half of the median gain of all recipes. Metrics
    that count failed runs, and metrics that need no learning, are about all runs. A run that
    collapsed on unseen sentences may have memorised its training sentences. In a claim about these
    sentences, or about the gap to unseen sentences, such a run counts as learned.

    Args:
        run: the run.
        metric: the metric of the claim.
        arm: all runs of the arm.
        recipes: all runs of a study of combinations.
    """
    place = metric.partition("/")[0]
    if metric in UNSTABLE or (place in UNLEARNED and place != "gap"):
        return True
    if place in OF_TRAINING and run["status"] == "collapsed":
        return _fits_training_text(run)
    if run["status"] != "finished":
        return False
    indicator = _indicator_of(metric) if place != "gap" else ""
    gain = _above(run, f"{metric.rpartition('/')[0]}/{indicator}") if indicator else None
    return (gain is None or gain > 0) and not _is_stuck(run, metric, arm, recipes)


def _fits_training_text(run: Run) -> bool:
    nll, unigram = (run["metrics"].get(key) for key in ("train/nll", "unigram_nll"))
    return nll is not None and unigram is not None and above(PLATEAU * unigram, nll)


def _is_stuck(run: Run, metric: str, arm: Iterable[Run], recipes: Sequence[Run]) -> bool:
    nll = f"{metric.rpartition('/')[0]}/nll"
    gained = _above(run, nll)
    if gained is None:
        return False
    alike = recipes or [peer for peer in arm if peer["levels"] == run["levels"]]
    finished = [_above(peer, nll) or 0.0 for peer in alike if peer["status"] == "finished"]
    return above(PLATEAU * (statistics.median if recipes else max)(finished), gained)


def _indicator_of(metric: str) -> str:
    metric_info = METRICS.get(metric.rpartition("/")[2])
    return metric_info.told_by if metric_info else ""


def _at_floor(arm: Side, metric: str) -> bool:
    """Return whether the runs of an arm are, on average, no better than without learning."""
    indicator = _indicator_of(metric)
    if not indicator:
        return bool(arm.completed) and all(run["status"] in NOT_LEARNED for run in arm.completed)
    heights = (_above(run, f"{metric.rpartition('/')[0]}/{indicator}") for run in arm.completed)
    gains = [height for height in heights if height is not None]
    return bool(gains) and at_most(statistics.fmean(gains), 0.0, max(map(abs, gains)))


def _above(run: Run, metric: str) -> float | None:
    """Return by how much a run's score is better than the score of a model that has learned
    nothing.

    The result is positive if the run is better, also for metrics of which lower is better. The
    result is None if the run lacks the metric.
    """
    try:
        score = value(run, metric)
        if metric.endswith("bleu"):
            return difference(score, UNTRAINED_BLEU)
        unigram = run["metrics"]["unigram_nll"]
    except KeyError:
        return None
    return None if unigram is None else difference(unigram, score)


def failures(claim: Claim, arms: Sequence[Side]) -> dict[str, Failures]:
    """Return the failed runs, the ended runs and the interval of the failure rate, by arm."""
    rates: dict[str, Failures] = {}
    for side in (arm for arm in arms if arm.levels):
        failed, ended = _count(side, claim["metric"])
        interval = [*share_interval(failed, ended, LEVEL)]
        rates[arm_label(side.levels)] = {"runs": failed, "of": ended, "interval": interval}
    return rates


def rates_of_failure(claim: Claim, arms: Sequence[Side], looks: Fractions) -> Rates | None:
    """Return the two failure rates that can decide a claim about quality.

    The result is None for another kind of claim, if no run failed, or if an arm has no runs. It is
    also None for a generalisation gap, which is meaningless without learning, and for a trend in a
    table of runs that other programs made.

    The first rate is that of the arms whose failures support the claim: the baseline, or the
    treatment if the claim is that the treatment is worse. So the first rate is higher if failures
    support the claim. For an interaction or a trend, arms whose weights have the same sign are
    pooled. The test then errs less often, because pooled counts of unequal rates vary less than the
    binomial counts that it assumes (Hoeffding 1956). The middle level of a trend, whose weight is
    0, is left out. `looks` has the interim analyses of the claim, for which the p-values are
    corrected.
    """
    metric = METRICS.get(claim["metric"].rpartition("/")[2])
    better = metric.better if metric else claim["better"]
    if "design" in claim:
        if claim["kind"] == "trend":
            return None
    elif metric is None or metric.wrong is None or claim["metric"].startswith("gap/"):
        return None
    counts = np.zeros((2, 2), dtype=int)
    most = max((abs(side.weight) for side in arms), default=0.0)
    for side in (arm for arm in arms if abs(arm.weight) > NO_WEIGHT * most):
        counts[int((side.weight > 0) == (better == "higher"))] += _count(side, claim["metric"])
    (first, of_first), (second, of_second) = counts.tolist()
    rates = Rates(first, of_first, second, of_second, looks)
    return rates if rates.is_known and rates.first + rates.second else None


def _count(side: Side, metric: str) -> tuple[int, int]:
    """Return the number of runs that failed to learn, and the number of all runs that ended."""
    learned = [has_learned(run, metric, side.all_runs, side.recipes) for run in side.completed]
    return learned.count(False), len(learned)


def learning(claim: Claim, arms: Sequence[Side], evidence: Evidence, effect: float) -> Learning:
    """Return the gain of every arm in the last quarter of training, and the arms still learning.

    There are no gains for an exact claim, a claim of stability, or a trend on a log-log scale, if
    the metric is not measured at validations, or if no arm is better than a model that has learned
    nothing.
    """
    exponent = claim["kind"] == "trend" and claim["scale"] == "log_log"
    metric = f"val/{claim['metric'].rpartition('/')[2]}"
    matters = claim["margin"] or abs(effect)
    asked = claim["kind"] not in ("exact", "stability") and not exponent and matters > 0
    if not asked or nothing_learned(claim, arms, evidence):
        return {"metric": metric, "gains": {}, "still": []}
    better = metric_of(metric).better or claim["better"]  # equality has no better side
    sign = 1 if better == "higher" else -1
    by_arm = {arm_label(side.levels): _gains(side.all_runs, metric) for side in arms}
    gains = {name: sign * statistics.fmean(of_arm) for name, of_arm in by_arm.items() if of_arm}
    still = [name for name, gain in gains.items() if at_most(matters / 2, gain)]
    return {"metric": metric, "gains": gains, "still": still}


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


def single_answer(
    claim: Claim,
    arms: Sequence[Side],
    evidence: Evidence,
    control: Control,
    differences: Float[np.ndarray, " seeds"] | None = None,
) -> Reason | None:
    """Return the reason why a claim can have only one answer; None if several answers are possible.

    Args:
        claim: the claim.
        arms: the arms that the claim compares, with their runs.
        evidence: the evidence of the study.
        control: returns the outcome of the claim's positive control.
        differences: the paired differences between the arms.
    """
    if "design" in claim:  # the floor and the best value of its metric are not known
        return _identical(claim, differences)
    learned = nothing_learned(claim, arms, evidence) or arms_not_learned(claim, arms, evidence)
    return learned or _no_room(claim, arms, control) or _identical(claim, differences)


def _identical(claim: Claim, differences: Float[np.ndarray, " seeds"] | None) -> Reason | None:
    """Return why a claim has only one answer, if its arms compute the same numbers; else None.

    Equal numbers are evidence for claims that two arms are the same.
    """
    if claim["kind"] not in BETTER or differences is None:
        return None
    if not len(differences) or differences.any():
        return None
    return reason("identical", metric=claim["metric"], measures=claim.get("measures", ""))


def _no_room(claim: Claim, arms: Sequence[Side], control: Control) -> Reason | None:
    """Return the reason why the metric's range permits only one verdict; else None.

    There are three such cases: both arms are within the margin of the best value, so the treatment
    cannot be better by the margin; the baseline is within the margin of an untrained model, so no
    loss can exceed the margin; both arms are at the best value.
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
        return less or _at_ceiling(claim, metric, (treatment, baseline), control)
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
    claim: Claim, metric: Metric, means: tuple[float, float], control: Control
) -> Reason | None:
    """Return the reason "at_ceiling" if both arms are at or near the best value of the metric; else
    None. The result is None as well if a control arm shows that these runs could have shown a loss.
    """
    best, wrong = metric.best, metric.wrong
    if best is None or not isinstance(wrong, float):
        return None
    near = AT_BEST * abs(best - wrong)
    if any(above(abs(best - mean), near) for mean in means):
        return None
    shown = control()
    return None if shown and shown["loses"] else reason("at_ceiling", metric=claim["metric"])


def _less(limit: str, claim: Claim, room: float) -> Reason | None:
    """Return the reason that the baseline is within the margin of a limit of the metric: the score
    of "a perfect model" or of "an untrained model".
    """
    if above(room, claim["margin"]):
        return None
    about = {"baseline": dict(claim["baseline"]), "metric": claim["metric"]}
    return reason("no_room", limit=limit, **about, room=room, margin=claim["margin"])


def _mean(side: Side, metric: str) -> float | None:
    """Return the mean of a metric over the finished runs of an arm; None if no run has it."""
    scores = [
        value(run, metric)
        for run in side.all_runs
        if run["status"] == "finished" and isinstance(run["metrics"].get(metric), int | float)
    ]
    return statistics.fmean(scores) if scores else None
