"""The floor of a metric: what a model scores that has learned nothing.

Where every arm of a contrast stands there, that they are alike says nothing of the claim, and a
difference between them says little; so there is no verdict. Exempt are claims about the runs that
go wrong, and what is measured without any learning.
"""

import statistics
from collections.abc import Sequence

from ablate.config.labels import arm_label
from ablate.evidence.folder import Evidence
from ablate.evidence.outcome import UNSTABLE, UNTRAINED_BLEU, WENT_WRONG, value
from ablate.evidence.types import Claim, Run
from ablate.metric.table import METRICS, metric_of
from ablate.phrases import listed
from ablate.verdict.sides import Side

INITIAL = "initial"  # level of `weights`: what is measured are the weights before training
SPLITS = ("train", "val", "test")
OF_TRAINING = ("train", "gap")  # metrics of training sentences, and of what unseen ones lack
UNLEARNED_KINDS = ("stability",)  # about runs that go wrong
AGAINST_BASELINE = ("equivalence", "non_inferiority")
# Of the gain of the best run of an arm: with less, a run is stuck. Of the unigram's nll: a run with
# less on its training sentences knows them.
PLATEAU = 0.5
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


def nothing_learned(claim: Claim, arms: Sequence[Side], evidence: Evidence) -> str:
    """Why a contrast cannot be judged: all its arms are at the floor; "" where one is above."""
    if claim["metric"].partition("/")[0] in UNLEARNED:
        return ""
    if not arms or not all(_failed_to_learn(arm, claim["metric"], evidence) for arm in arms):
        return ""
    told = _told_by(claim["metric"])
    which = {"nll": "the unigram model", "bleu": "an untrained model"}.get(told, "")
    better = f"better than {which}" if which else "that neither diverged nor collapsed"
    return f"nothing was learned: by {metric_of(claim['metric']).name} no arm is {better}"


def unlearned(claim: Claim, arms: Sequence[Side], evidence: Evidence) -> str:
    """Return why an arm that failed to learn leaves the claim undecided; "" where none does.

    A score compares an arm that learned with one that did not. But what was measured inside a
    model, an interaction, and the loss against a baseline are about models that learned.
    """
    place = claim["metric"].partition("/")[0]
    if place in (*UNLEARNED, "train") or claim["kind"] in UNLEARNED_KINDS:
        return ""
    most = 0
    if claim["minus"]:
        most = 1  # one arm that fails may be the effect; of two the difference is cut off
    elif _told_by(claim["metric"]):
        arms = arms[1:] if claim["kind"] in AGAINST_BASELINE else []
    metric = claim["metric"]
    failed = [arm_label(arm.levels) for arm in arms if _failed_to_learn(arm, metric, evidence)]
    if len(failed) <= most:
        return ""
    return f"the claim is about models that learned, and {listed(failed)} did not learn the task"


def _failed_to_learn(arm: Side, metric: str, evidence: Evidence) -> bool:
    """Whether a trained arm is at the floor of the metric, or of BLEU where BLEU tells arms apart.

    Skill has a floor of its own. Of a corpus whose answers are too short, BLEU is 0 in every arm.
    """
    if _never_trained(arm):
        return False
    split, _, name = metric.rpartition("/")
    bleu = f"{'test' if split not in SPLITS else split}/bleu"
    tells = name != "skill" and any((_above(run, bleu) or 0.0) > 0 for run in evidence.runs)
    return _at_floor(arm, metric) or (tells and _at_floor(arm, bleu))


def _never_trained(arm: Side) -> bool:
    """Whether an arm is untrained on purpose."""
    return bool(arm.every) and all(
        run["metrics"].get("steps") == 0 or run["levels"].get("weights") == INITIAL
        for run in arm.every
    )


def has_learned(run: Run, metric: str, arm: Side) -> bool:
    """Return whether a run has learned the task, so that its metric says how well.

    It has not where it diverged or collapsed, scores no better than without learning, or is stuck
    on a plateau: it gained less than half of what the best run of its arm gained over the unigram
    model, in nll. Metrics that count such runs, and those that need no learning, are about all
    runs. A run that collapsed on unseen sentences may know its training sentences by heart. Of a
    claim about these sentences, or about the gap to them, it has learned.
    """
    place = metric.partition("/")[0]
    if metric in UNSTABLE or (place in UNLEARNED and place != "gap"):
        return True
    if place in OF_TRAINING and run["status"] == "collapsed":
        return _knows_training(run)
    if run["status"] != "finished":
        return False
    told = _told_by(metric) if place != "gap" else ""
    above = _above(run, f"{metric.rpartition('/')[0]}/{told}") if told else None
    return (above is None or above > 0) and not _is_stuck(run, metric, arm)


def _knows_training(run: Run) -> bool:
    nll, unigram = (run["metrics"].get(key) for key in ("train/nll", "unigram_nll"))
    return nll is not None and unigram is not None and nll < PLATEAU * unigram


def _is_stuck(run: Run, metric: str, arm: Side) -> bool:
    nll = f"{metric.rpartition('/')[0]}/nll"
    gained = _above(run, nll)
    if gained is None:
        return False
    peers = [peer for of_seed in arm.runs.values() for peer in of_seed]
    alike = [peer for peer in peers if peer["levels"] == run["levels"]]
    finished = [_above(peer, nll) or 0.0 for peer in alike if peer["status"] == "finished"]
    return gained < PLATEAU * max(finished)


def _told_by(metric: str) -> str:
    known = METRICS.get(metric.rpartition("/")[2])
    return known.told_by if known else ""


def _at_floor(arm: Side, metric: str) -> bool:
    """Whether the runs of an arm are, on average, no better than without learning."""
    told = _told_by(metric)
    if not told:
        return bool(arm.ended) and all(run["status"] in WENT_WRONG for run in arm.ended)
    heights = (_above(run, f"{metric.rpartition('/')[0]}/{told}") for run in arm.ended)
    above = [height for height in heights if height is not None]
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
