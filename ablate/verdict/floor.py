"""The floor of a metric: what a model scores that has learned nothing.

Where every arm of a contrast stands there, that they are alike says nothing of the claim, and a
difference between them says little; so there is no verdict. Exempt are claims about the runs that
go wrong, and what is measured without any learning.
"""

import statistics

from ablate.evidence.folder import Evidence
from ablate.evidence.outcome import WENT_WRONG, value
from ablate.evidence.types import Claim, Run
from ablate.metric.table import METRICS, metric_of
from ablate.verdict.sides import Side, sides

UNTRAINED_BLEU = 0.5  # untrained models have 0.00, after a few steps up to 0.04
# they have no floor
UNLEARNED = (
    "probe",
    "gap",
    "gradient",
    "parameters",
    "steps",
    "unigram_nll",
    "unigram_bpb",
    "chance",
    "bound",
)


def nothing_learned(claim: Claim, evidence: Evidence) -> str:
    """Why a contrast cannot be judged: all its arms are at the floor; "" where one is above."""
    if claim["metric"].partition("/")[0] in UNLEARNED:
        return ""
    arms = sides(claim, evidence)
    if not arms or not all(_at_floor(arm, claim["metric"]) for arm in arms):
        return ""
    told = _told_by(claim["metric"])
    which = {"nll": "the unigram model", "bleu": "an untrained model"}.get(told, "")
    better = f"better than {which}" if which else "that neither diverged nor collapsed"
    return f"nothing was learned: by {metric_of(claim['metric']).name} no arm is {better}"


def _told_by(metric: str) -> str:
    known = METRICS.get(metric.rpartition("/")[2])
    return known.told_by if known else ""


def _at_floor(arm: Side, metric: str) -> bool:
    """Whether the runs of an arm are, on average, no better than without learning."""
    runs = [run for found in arm.runs.values() for run in found if run["status"] != "failed"]
    told = _told_by(metric)
    if not told:
        return bool(runs) and all(run["status"] in WENT_WRONG for run in runs)
    above = [
        found
        for run in runs
        if (found := _above(run, f"{metric.rpartition('/')[0]}/{told}")) is not None
    ]
    return bool(above) and statistics.fmean(above) <= 0


def _above(run: Run, metric: str) -> float | None:
    """How far above the floor a run stands; None where it has no such metric."""
    try:
        found = value(run, metric)
        if metric.endswith("bleu"):
            return found - UNTRAINED_BLEU
        unigram = run["metrics"]["unigram_nll"]
    except KeyError:
        return None
    return None if unigram is None else unigram - found
