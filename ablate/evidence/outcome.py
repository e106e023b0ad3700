"""Return the value of a run in a statistical test, even if the run diverged."""

from ablate.evidence.threshold import steps_to, threshold
from ablate.evidence.types import Run
from ablate.metric.table import METRICS

STATUSES = ("finished", "diverged", "collapsed", "failed")
NOT_LEARNED = ("diverged", "collapsed")
# Metrics of a stability claim, and the statuses that each metric counts.
UNSTABLE = {"diverged": ("diverged",), "collapsed": ("collapsed",), "unstable": NOT_LEARNED}
UNTRAINED_BLEU = 0.5  # untrained models have 0.00; after a few steps up to 0.04
BLEU, NLL = "test/bleu", "test/nll"
HARDLY = 0.05  # fraction of the unigram nll: a run with a smaller gain has learned almost nothing


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
