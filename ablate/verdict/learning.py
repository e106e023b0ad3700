"""Whether a claim was judged where learning is flat: what the last quarter of the updates gained.

Learning is flat where no arm gains half the margin or more in it, by the claim's own metric on the
validation sentences: then the same again of updates would not move an effect by much. Skill is not
measured on the way; the nll tells it, as a share of its own way from chance to the bound. Runs that
went wrong learn nothing and do not enter. What an arm *cannot* is shown by none that still learns.
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
UNJUDGED = ("exact", "stability")  # say nothing of how good a model has become
SKILL = "val/skill"


def learning(claim: Claim, evidence: Evidence) -> Learning:
    """As verdict.json has it: the gain of every arm, and which of them still learn.

    Without gains where the claim has no margin, or its metric no curve, to tell by; and where no
    arm has left the floor, which is flat as well.
    """
    log = claim["kind"] == "trend" and claim["scale"] == "log_log"
    metric = f"val/{claim['metric'].rpartition('/')[2]}"
    if claim["kind"] in UNJUDGED or log or not claim["margin"]:
        return {"metric": metric, "gains": {}, "still": []}
    better = metric_of(metric).better or claim["better"]  # equality has no better side
    sign = 1 if better == "higher" else -1
    arms = {name: _gains(runs, metric) for name, runs in _arms(claim, evidence).items()}
    gains = {name: sign * statistics.fmean(found) for name, found in arms.items() if found}
    still = [name for name, gain in gains.items() if gain >= claim["margin"] / 2]
    return {"metric": metric, "gains": gains, "still": still}


def withheld(claim: Claim, entry: Entry, evidence: Evidence) -> Entry:
    """The entry; inconclusive where an arm *cannot* and still learns, or that is not known."""
    if not claim.get("cannot"):
        return entry
    found = learning(claim, evidence)
    flat = found["gains"] and not found["still"]
    return entry if flat else withhold(claim, entry, "an arm may still have been learning")


def withhold(claim: Claim, entry: Entry, when: str) -> Entry:
    """The entry; inconclusive where it supports that an arm *cannot*."""
    if not claim.get("cannot") or entry["verdict"] != SUPPORTED:
        return entry
    nothing: Any = {"grade": "", "sensitivity": [], "p_look": {}}  # that chance could have made
    return {**entry, **nothing, "verdict": INCONCLUSIVE, "withheld": when}


def _arms(claim: Claim, evidence: Evidence) -> dict[str, list[Run]]:
    """The finished runs of every arm of a claim."""
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
    """What the last quarter of its updates gained each run that has a curve of this metric."""
    curves = [(run["curve"].get("step", []), _curve(run, metric)) for run in runs]
    return [
        _gain(np.array(steps, float), np.array(values, float))
        for steps, values in curves
        if len(steps) > 1 and len(values) == len(steps) and None not in values
    ]


def _curve(run: Run, metric: str) -> Sequence[float | None]:
    """The values of a metric at every validation; [] where there are none."""
    if metric != SKILL:
        return run["curve"].get(metric, [])
    chance, bound = (run["metrics"].get(f"{level}/nll") for level in ("chance", "bound"))
    if chance is None or bound is None or chance == bound:
        return []
    nll = run["curve"].get("val/nll", [])
    return [None if x is None else (x - chance) / (bound - chance) for x in nll]


def _gain(steps: Points, values: Points) -> float:
    """The last value without that of three quarters of the way, between two validations."""
    return float(values[-1] - np.interp((1 - QUARTER) * steps[-1], steps, values))
