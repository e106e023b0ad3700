"""Check the planned interim analyses of a study, and find the arms that can stop after each.

`study.looks: 3` runs a sweep in three stages and judges after each. A claim is over if it is
decided, or if it is unlikely to be decided: if the conditional power of both decisions, given the
trend so far, is below 10 %. Stopping for a low conditional power is non-binding: alpha is spent as
if no claim stopped for this reason (ablate.stats.spending). An arm stops when every claim that uses
it is over. An exact claim (a condition that must hold in every case) keeps no arm running, because
it is not decided by a statistical test that needs more seeds.

Source: Lan, Simon & Halperin 1982, Sequential Analysis 1, 207 (conditional power).
"""

from collections.abc import Iterable, Sequence

from scipy.special import ndtr, ndtri

from ablate.errors import UserError
from ablate.evidence.folder import Evidence
from ablate.evidence.looks import ENOUGH, planned_looks
from ablate.evidence.types import Claim, Levels, Study
from ablate.stats.spending import nominal
from ablate.stats.ties import at_most
from ablate.verdict.decision import INCONCLUSIVE, REFUTED, SUPPORTED, Decision
from ablate.verdict.floor import FEWEST
from ablate.verdict.judge import decide
from ablate.verdict.kind import kind_of
from ablate.verdict.kind.base import Finding
from ablate.verdict.sides import has

LEAST = 4  # smallest number of seeds at the first of several interim analyses
FUTILE = 0.1  # conditional power below which a claim is not continued


def check_looks(study: Study) -> None:
    """Raise UserError if a study plans interim analyses with too few seeds."""
    looks, seeds = study.get("looks"), study["seeds"]
    if looks is None or looks == 1:
        return
    if looks < 1 or seeds < ENOUGH or planned_looks(study)[0] < LEAST:
        most = (seeds - 1) // (LEAST - 1) if seeds >= ENOUGH else 1
        allowed = f"from 1 to {most}" if most > 1 else "1"
        raise UserError(
            f"study.looks={looks} (number of analyses): with {seeds} seeds it must be {allowed}; 2 "
            f"or more need {ENOUGH} seeds, and {LEAST} of them at the first analysis"
        )


def needed(evidence: Evidence, waiting: Sequence[Claim] = ()) -> list[Levels]:
    """Return the levels of the arms that continue after an interim analysis.

    These are the arms of claims that are neither decided nor unlikely to be decided. `waiting` has
    the claims that lack the runs of an arm, which count in the correction.
    """
    budgets = [evidence, *([evidence.short] if evidence.short else [])]
    arms: list[Levels] = []
    for finding, _, decision in (each for budget in budgets for each in decide(budget, waiting)):
        if not over(finding, decision):
            arms += [arm for arm in _arms(finding, evidence) if arm not in arms]
    return arms


def over(finding: Finding, decision: Decision) -> bool:
    """Return whether a claim needs no further seeds, because it is decided or unlikely to be."""
    return not finding.p or decision.status != INCONCLUSIVE or _futile(finding)


def conditional_power(p: float, share: float, level: float) -> float:
    """Return the probability of a decision with all seeds if the present trend continues.

    Args:
        p: one-sided p-value of the seeds so far.
        share: the seeds so far as a fraction of all seeds.
        level: one-sided level of the last analysis.
    """
    if share >= 1:
        return float(at_most(p, level))
    trend = -float(ndtri(p)) / share**0.5
    return float(ndtr((trend + float(ndtri(level))) / (1 - share) ** 0.5))


def _futile(finding: Finding) -> bool:
    if finding.result.pairs < FEWEST:
        return False  # so few pairs show no trend
    looks, alpha = finding.result.looks, finding.claim["alpha"]
    whole = kind_of(finding.claim).whole
    return all(
        conditional_power(
            nominal(finding.p[side], looks), looks[-1], alpha if side in whole else alpha / 2
        )
        < FUTILE
        for side in (SUPPORTED, REFUTED)
    )


def _arms(finding: Finding, evidence: Evidence) -> Iterable[Levels]:
    """Return the levels of every run that a claim uses, including its positive control."""
    runs, claim = finding.runs, finding.claim
    if loses := claim.get("loses"):
        arm = claim["where"] | claim["baseline"] | loses
        runs += [run for run in evidence.runs if has(run, arm)]
    return [run["levels"] for run in runs]
