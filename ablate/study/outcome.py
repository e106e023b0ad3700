"""The number that a run contributes to a test, also when the run went wrong."""

from typing import Any

STATUSES = ("finished", "diverged", "collapsed", "failed")


def value(run: dict[str, Any], metric: str) -> float:
    """Return a run's metric; a diverged or collapsed run scores the unigram nll, or 0.

    Leaving such runs out would flatter the arm that has them.

    Raises:
        KeyError: the run has no such metric.
    """
    metrics = run["metrics"]
    if run["status"] == "finished":
        return float(metrics[metric])
    return float(metrics["unigram_nll"]) if metric.endswith("nll") else 0.0
