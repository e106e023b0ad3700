"""Declare the runs in runs.jsonl, and return the value of a run in a statistical test, even if the
run diverged, and summaries of runs.

The metric `steps_to/nll_NUMBER` is the step at which the validation curve first reaches a value, by
linear interpolation. A run that never reaches the value counts with all of its training steps, so
that a mean over runs is a lower bound.

Runs are summarised in a row for each arm, for the table at the end of a sweep.
"""

import math
import statistics
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from typing import Any, Literal, NotRequired, get_args

from typing_extensions import TypedDict

from ablate.config.labels import arm_label
from ablate.config.study import Claim, Levels, Question
from ablate.metric import METRICS, NOTHING, STEPS_TO, metric_of
from ablate.record.results import Metrics, Tuned

RunStatus = Literal["finished", "diverged", "collapsed", "failed"]
Values = dict[str, Any]  # of a reason, by name
# values by metric, and optimiser steps under the key `step`; None means not finite
Curve = dict[str, list[int | float | None]]
STATUSES = get_args(RunStatus)
NOT_LEARNED = ("diverged", "collapsed")
# Metrics of a stability claim, and the statuses that each metric counts.
UNSTABLE = {"diverged": ("diverged",), "collapsed": ("collapsed",), "unstable": NOT_LEARNED}
# families of metrics that are the same before and after training
UNTRAINED = ("probe", "parameters", "steps", "unigram_nll", "unigram_bpb", "chance", "bound")
UNTRAINED_BLEU = 0.5  # untrained models have 0.00; after a few steps up to 0.04
BLEU, NLL = "test/bleu", "test/nll"
VAL_NLL = "val/nll"
# metric of a pair of runs: fraction of sentences whose translations differ in their BLEU statistics
CHANGED = "changed"
BEGINNING = f"{STEPS_TO}/nll_"
Number = int | float
Point = tuple[Number, Number]
HARDLY = 0.05  # fraction of the unigram nll: a run with a smaller gain has learned almost nothing
# shown in this order, if the runs have them
COLUMNS = (
    "test/bleu",
    "test/bleu_tokenised",
    "test/chrf",
    "test/nll",
    "test_long/bleu",
    "test/length_ratio",
    "test/calibration_error",
)
PROBE = "probe/"
Row = dict[str, str]


class Reason(TypedDict):
    """A reason as data: a code, and the values with which ablate.words writes the sentence."""

    code: str
    values: Values


class Caveat(Reason):
    """A caveat of a verdict: a reason, and the numbers of the claims that it is about, from 1; no
    numbers if it is about the whole study.
    """

    claims: list[int]


def reason(code: str, **values: object) -> Reason:
    """Return a reason as data."""
    return {"code": code, "values": values}


class TableClaim(Claim):
    """A claim about a table of runs that other programs made, with the design of its test.

    In the design "one sample", the runs of an arm are compared with the number `target`.
    """

    design: str  # paired | unpaired | one sample
    target: float | None
    test: str  # t test: corrected (for skewness) | textbook
    doubts: list[Reason]  # remarks on the runs of its arms


class End(TypedDict):
    """The outcome of a run after all of its training steps, or after the fewer steps of a short
    budget: its status, metrics and validation curve.
    """

    identity: str
    status: RunStatus
    metrics: Metrics
    curve: Curve
    reused: bool
    ended: float
    seconds: float


class Run(End):
    """A run of a sweep, as in runs.jsonl: its arm (a combination of levels), its seed, and its
    outcome.
    """

    cell: int
    seed: int
    arm: str
    command: str
    levels: Levels
    versions: dict[str, str]
    commit: NotRequired[str]  # commit of ablate's source; missing in older evidence
    processor: NotRequired[str]  # model of the processor; missing in older evidence
    instructions: NotRequired[str]  # instruction set of torch's kernels; missing in older evidence
    code: NotRequired[str]  # digest of everything that determines the results, except the config
    rate: NotRequired[float]  # learning rate; missing in older evidence
    tuned: NotRequired[Tuned]
    matched: NotRequired[Levels]
    error: NotRequired[str]
    study: NotRequired[str]
    short: NotRequired[End]
    training: NotRequired[Curve]  # curve of the training nll; missing in older evidence
    replicate: NotRequired[int]
    draws: NotRequired[int]  # number of random draws behind each value of a probe


class Spread(TypedDict):
    """Mean and standard deviation of a metric over the seeds of an arm.

    The standard deviation is null if there is a single seed.
    """

    mean: float
    sd: float | None


def needs_no_training(metric: str) -> bool:
    """Return whether a metric has the same value before and after training."""
    return metric.partition("/")[0] in UNTRAINED


def involves_chance(claim: Question) -> bool:
    """Return whether the result of a claim depends on the seeds.

    All claims do, except exact claims about a metric that training does not change.
    """
    return claim["kind"] != "exact" or not needs_no_training(claim["metric"])


def is_unstable(run: Run, metric: str) -> bool:
    """Return whether a run counts as unstable in a claim about the rate of unstable runs.

    A finished run counts as collapsed if its BLEU is as low as that of an untrained model, and its
    loss is barely below the unigram loss.

    Args:
        run: the run.
        metric: "diverged", "collapsed", or "unstable" for both.
    """
    if run["status"] in UNSTABLE[metric]:
        return True
    if "collapsed" not in UNSTABLE[metric] or run["status"] != "finished":
        return False
    bleu, nll, unigram = (run["metrics"].get(key) for key in (BLEU, NLL, "unigram_nll"))
    if bleu is None or nll is None or unigram is None:
        return False
    return bool(bleu <= UNTRAINED_BLEU and nll > (1 - HARDLY) * unigram)


def value(run: Run, metric: str) -> float:
    """Return the value of a metric for a run; a diverged or collapsed run gets the metric's worst
    value, such as BLEU 0 or the unigram nll.

    Excluding such runs would favour the arm to which they belong. The metrics `diverged`,
    `collapsed` and `unstable` are 1 or 0.

    Raises:
        KeyError: the run has no value of the metric, or a value that is not finite.
    """
    if metric in UNSTABLE:
        return float(is_unstable(run, metric))
    if nll := threshold(metric):
        return steps_to(run, nll)
    worst = _worst(metric)
    if run["status"] in NOT_LEARNED and worst is not None:
        number = run["metrics"][worst] if isinstance(worst, str) else worst
    else:
        number = run["metrics"][metric]
    if number is None:  # files store null for a number that is not finite
        raise KeyError(metric)
    return float(number)


def required_metrics(metric: str) -> set[str]:
    """Return the metrics that must be recorded for a run so that `value` can compute `metric`."""
    worst = _worst(metric)
    return {metric, worst} if isinstance(worst, str) else {metric}


def _worst(metric: str) -> float | str | None:
    """Return the replacement for a metric of a diverged or collapsed run: a number, or the name of
    the metric whose value is used instead.

    The result is None if the table of metrics defines no replacement.
    """
    definition = METRICS.get(metric.rpartition("/")[2])
    return definition.wrong if definition else None


def threshold(metric: str) -> float | None:
    """Return the nll in the name of a metric such as "steps_to/nll_1.0".

    The result is None for any other name.
    """
    if not metric.startswith(BEGINNING):
        return None
    try:
        nll = float(metric.removeprefix(BEGINNING))
    except ValueError:
        return None
    return nll if 0 < nll < math.inf else None


def steps_to(run: Run, nll: float) -> float:
    """Return the number of steps until a run's validation nll has fallen to `nll`.

    For a run that never reaches this value, the result is the number of all its steps.

    Raises:
        KeyError: the run has no validation, or diverged before it reached the value.
    """
    curve = run["curve"]
    steps = first_at(curve["step"], curve[VAL_NLL], nll)
    if math.isinf(steps) and run["status"] == "diverged":
        raise KeyError(VAL_NLL)
    return min(steps, float(curve["step"][-1] or 0))


def first_at(
    steps: Sequence[Number | None], values: Sequence[Number | None], target: Number
) -> float:
    """Return the step at which a falling curve first reaches a target; infinity if it never does.

    Args:
        steps: step of each point of the curve.
        values: value of each point; points with None are ignored.
        target: the value to reach.
    """
    before: Point | None = None
    for step, now in zip(steps, values, strict=True):
        if step is None or now is None:
            continue
        if now <= target:
            if before is None:
                return float(step)
            first, high = before
            return first + (step - first) * (high - target) / (high - now)
        before = (step, now)
    return math.inf


def by_arm(runs: Iterable[Run]) -> dict[str, list[Run]]:
    """Return the runs of every arm by the label of the arm, in the order of the sweep.

    Arms with different levels have different labels (ablate.evidence.checks.check_arms).
    """
    grouped: dict[str, list[Run]] = {}
    for run in runs:
        grouped.setdefault(run["arm"], []).append(run)
    return grouped


def differ_in_code(runs: Iterable[Run]) -> bool:
    """Return whether runs were made with different code, libraries, initial weights, data or
    devices (`Run.code`); runs that do not record their code are ignored.
    """
    return len({run["code"] for run in runs if run.get("code")}) > 1


def by_label(runs: list[Run]) -> dict[str, list[Run]]:
    """Return the runs of every arm by the arm's name in words, in the order of the sweep.

    If two arms have the same name, their overrides follow in brackets.
    """
    arms = by_arm(runs)
    labels = {arm: arm_label(members[0]["levels"]) or arm for arm, members in arms.items()}
    count = Counter(labels.values())
    return {
        label if count[label] == 1 else f"{label} [{arm}]": arms[arm]
        for arm, label in labels.items()
    }


def rows(runs: list[Run], asked: Collection[str] = ()) -> list[Row]:
    """Return a row per arm, with text by column: number of seeds, mean and standard deviation of
    the metrics in `COLUMNS`, of the metrics of claims (`asked`) and of probes, learning rates,
    status counts, parameters, and median seconds.
    """
    ended = [run for run in runs if run["status"] != "failed"]
    usual = [*COLUMNS, *sorted(metric for metric in asked if not metric.startswith(PROBE))]
    metrics = [c for c in dict.fromkeys(usual) if any(c in run["metrics"] for run in ended)]
    metrics += sorted({k for run in ended for k in run["metrics"] if k.startswith(PROBE)})
    probed = any(metric.startswith(PROBE) for metric in metrics)
    counted = [s for s in STATUSES[1:] if not probed or any(run["status"] == s for run in runs)]
    return [_row(arm, members, metrics, counted) for arm, members in by_label(runs).items()]


def _row(arm: str, members: list[Run], metrics: list[str], counted: list[str]) -> Row:
    ended = [run for run in members if run["status"] != "failed"]
    row = {"arm": arm, "seeds": str(len(ended))}
    for metric in metrics:
        measured = spread(ended, metric)
        row[metric] = metric_of(metric).spread(**measured) if measured else NOTHING
    rates = sorted({run["rate"] for run in members if "rate" in run})
    row["learning rate"] = ", ".join(f"{rate:g}" for rate in rates) or NOTHING
    row |= {status: str(sum(run["status"] == status for run in members)) for status in counted}
    row["reused"] = str(sum(run["reused"] for run in ended))
    row["parameters"] = f"{max((r['metrics'].get('parameters') or 0 for r in ended), default=0):,}"
    # the median is robust against a run that was interrupted for an hour
    seconds = [run["seconds"] for run in ended]
    row["median seconds"] = f"{statistics.median(seconds):,.1f}" if seconds else "-"
    return row


def spread(runs: list[Run], metric: str) -> Spread | None:
    """Return mean and standard deviation of a metric over the runs that have it; None if none has
    it.
    """
    scores = []
    for run in runs:
        with suppress(KeyError):  # the run failed before it could be measured
            scores.append(value(run, metric))
    if not scores:
        return None
    sd = statistics.stdev(scores) if len(scores) > 1 else None
    return {"mean": statistics.fmean(scores), "sd": sd}
