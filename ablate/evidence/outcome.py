"""The number that a run contributes to a test, also when the run went wrong."""

from ablate.evidence.threshold import steps_to, threshold
from ablate.evidence.types import Run
from ablate.metric.table import METRICS

STATUSES = ("finished", "diverged", "collapsed", "failed")
WENT_WRONG = ("diverged", "collapsed")
# Metrics of a stability claim, and the statuses that they count.
UNSTABLE = {"diverged": ("diverged",), "collapsed": ("collapsed",), "unstable": WENT_WRONG}
UNTRAINED_BLEU = 0.5  # untrained models have 0.00, after a few steps up to 0.04
BLEU, NLL = "test/bleu", "test/nll"
HARDLY = 0.05  # of the unigram's nll: a run that gained less has learned hardly anything


def is_unstable(run: Run, metric: str) -> bool:
    """Return whether a stability claim counts a run.

    A run has collapsed, too, that translates no better than an untrained model and whose loss is
    hardly below the unigram's.
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
    """Return a run's metric; a diverged or collapsed run scores 0, and the unigram nll.

    Leaving such runs out would flatter the arm that has them. `diverged`, `collapsed` and
    `unstable` are 1 or 0.

    Raises:
        KeyError: the run has no such metric, and there is no worst value to stand for it.
    """
    if metric in UNSTABLE:
        return float(is_unstable(run, metric))
    if nll := threshold(metric):
        return steps_to(run, nll)
    known = METRICS.get(metric.rpartition("/")[2])
    if run["status"] in WENT_WRONG and known and known.wrong is not None:
        wrong = known.wrong
        found = run["metrics"][wrong] if isinstance(wrong, str) else wrong
    else:
        found = run["metrics"][metric]
    if found is None:  # what a file holds in place of a number that is not finite
        raise KeyError(metric)
    return float(found)
