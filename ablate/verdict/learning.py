"""Check whether the arms of a claim were still learning at the end of training.

Learning has levelled off if no arm gained half the margin or more in the last quarter of its steps,
by the claim's metric on the validation sentences. Then a quarter more steps would hardly change the
effect. The metric `skill` is not measured during training. Its value follows from the nll, as a
fraction of the way from chance to the lowest possible nll. Runs that diverged or collapsed do not
count. A claim that an arm *cannot* do something is not supported while an arm is still learning.
"""

import statistics
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from ablate.config.labels import arm_label
from ablate.evidence.folder import Evidence
from ablate.evidence.types import Claim, Entry, Learning, Run
from ablate.metric.table import metric_of
from ablate.verdict.decision import INCONCLUSIVE, SUPPORTED
from ablate.verdict.floor import nothing_learned
from ablate.verdict.sides import ContrastError, sides

Points = Float[np.ndarray, " points"]
QUARTER = 0.25
UNJUDGED = ("exact", "stability")  # kinds of claims that do not depend on the quality of a model
SKILL = "val/skill"


def learning(claim: Claim, evidence: Evidence) -> Learning:
    """Return the gain of every arm in the last quarter of training, and the arms still learning.

    The result has the form of verdict.json. It has no gains for a claim without a margin, an exact
    claim, a claim of stability, or a trend on a log-log scale. It also has no gains if the metric
    is not measured at validations, or if no arm is better than a model that has learned nothing.
    """
    log = claim["kind"] == "trend" and claim["scale"] == "log_log"
    metric = f"val/{claim['metric'].rpartition('/')[2]}"
    if claim["kind"] in UNJUDGED or log or not claim["margin"]:
        return {"metric": metric, "gains": {}, "still": []}
    better = metric_of(metric).better or claim["better"]  # equality has no better side
    sign = 1 if better == "higher" else -1
    arms = {name: _gains(runs, metric) for name, runs in _arms(claim, evidence).items()}
    gains = {
        name: sign * statistics.fmean(arm_gains) for name, arm_gains in arms.items() if arm_gains
    }
    still = [name for name, gain in gains.items() if gain >= claim["margin"] / 2]
    return {"metric": metric, "gains": gains, "still": still}


def check_cannot(claim: Claim, entry: Entry, evidence: Evidence) -> Entry:
    """Return the result of a claim, undecided if longer training might refute the claim.

    Only a supported claim with the key `cannot`, which says that an arm cannot do something,
    becomes undecided: if an arm may still have been improving at the end of training.
    """
    if not claim.get("cannot"):
        return entry
    state = learning(claim, evidence)
    flat = state["gains"] and not state["still"]
    return entry if flat else make_undecided(claim, entry, "an arm may still have been learning")


def make_undecided(claim: Claim, entry: Entry, when: str) -> Entry:
    """Return the result of a claim, undecided if it supports that an arm *cannot* do something.

    Args:
        claim: the claim.
        entry: its result in the form of verdict.json.
        when: the reason, which is stored in the result.
    """
    if not claim.get("cannot") or entry["verdict"] != SUPPORTED:
        return entry
    nothing: Any = {"grade": "", "sensitivity": [], "p_look": {}}  # no test is decisive any more
    return {**entry, **nothing, "verdict": INCONCLUSIVE, "withheld": when}


def _arms(claim: Claim, evidence: Evidence) -> dict[str, list[Run]]:
    """Return the finished runs of every arm of a claim, by label of the arm.

    The result is {} if no arm has learned, or if the runs cannot form the difference of the claim.
    """
    try:
        arms = sides(claim, evidence)
    except ContrastError:
        return {}
    if nothing_learned(claim, arms, evidence):
        return {}
    return {
        arm_label(side.levels): [run for run in side.every if run["status"] == "finished"]
        for side in arms
    }


def _gains(runs: Iterable[Run], metric: str) -> list[float]:
    """Return the gain in the last quarter of the steps, for each run with a curve of this
    metric.
    """
    curves = [(run["curve"].get("step", []), _curve(run, metric)) for run in runs]
    return [
        _gain(np.array(steps, float), np.array(values, float))
        for steps, values in curves
        if len(steps) > 1 and len(values) == len(steps) and None not in values
    ]


def _curve(run: Run, metric: str) -> Sequence[float | None]:
    """Return the values of a metric at every validation of a run; [] if there are none."""
    if metric != SKILL:
        return run["curve"].get(metric, [])
    chance, bound = (run["metrics"].get(f"{level}/nll") for level in ("chance", "bound"))
    if chance is None or bound is None or chance == bound:
        return []
    nll = run["curve"].get("val/nll", [])
    return [None if x is None else (x - chance) / (bound - chance) for x in nll]


def _gain(steps: Points, values: Points) -> float:
    """Return the last value minus the interpolated value at three quarters of the steps."""
    return float(values[-1] - np.interp((1 - QUARTER) * steps[-1], steps, values))
