"""The power of a study's claims with a number of seeds, before any of them has run.

The noise is that of earlier pairs of the same arms where there are some, else that of the regime.
With several claims each is planned at its share of alpha by the first step of Holm's correction,
so a plan promises rather too little.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ablate.errors import UserError
from ablate.evidence.folder import Evidence
from ablate.evidence.outcome import UNSTABLE
from ablate.evidence.types import Claim, Levels, Study
from ablate.plan.noise import Noise
from ablate.stats.estimate import Estimate
from ablate.stats.power import has_spread
from ablate.stats.rates import Rates
from ablate.stats.spending import ONCE
from ablate.verdict.contrast import contrast
from ablate.verdict.decidable import one_way
from ablate.verdict.decision import SUPPORTED
from ablate.verdict.kind import kind_of
from ablate.verdict.kind.base import Plan
from ablate.verdict.sides import sides


@dataclass(frozen=True)
class Sight:
    """What a claim could see.

    `least` is the smallest true effect that is shown with power .8 (where nothing is to be lost,
    the smallest margin), None where the noise is not known. `plan` has the seeds that decide the
    claim with power .8, None where it names no effect to plan for.
    """

    claim: Claim
    least: float | None
    plan: Plan | None
    noise: str  # where it is known from
    one_way: str = ""  # why, by earlier runs of its arms, it can come out in one way only


def sights(
    study: Study,
    arms: Sequence[Levels],
    seeds: int,
    earlier: Evidence,
    regime: Mapping[str, Noise | None],
) -> list[Sight]:
    """Plan every claim of a study over these arms.

    `earlier` holds runs of the same arms, `regime` the noise of a metric in the study's regime.
    """
    uncertain = [claim for claim in study["claims"] if claim["kind"] != "exact"]
    planned = _planned(study, arms, seeds)
    seen = [
        _sight(claim, planned, earlier, regime.get(claim["metric"]), max(1, len(uncertain)))
        for claim in study["claims"]
    ]
    return [replace(one, one_way=reason(one.claim, earlier)) for one in seen]


def reason(claim: Claim, earlier: Evidence) -> str:
    """Return why earlier runs of the arms leave a claim one way only; "" where they do not."""
    if claim["kind"] == "exact" or claim["metric"] in UNSTABLE:
        return ""
    try:
        arms = sides(claim, earlier)
        return one_way(claim, arms, earlier) if all(side.runs for side in arms) else ""
    except UserError:  # too few of its levels have run
        return ""


def _planned(study: Study, arms: Sequence[Levels], seeds: int) -> Evidence:
    """Evidence of which nothing is known but its arms and seeds."""
    empty = {"status": "finished", "metrics": {}, "identity": ""}
    runs = [{**empty, "levels": levels, "seed": seed} for levels in arms for seed in range(seeds)]
    return Evidence.made_up(study, runs)


def _sight(
    claim: Claim, planned: Evidence, earlier: Evidence, regime: Noise | None, claims: int
) -> Sight:
    kind, alpha = kind_of(claim), claim["alpha"] / claims
    if claim["kind"] == "exact":
        return Sight(claim, None, Plan(0.0, 1), "every case is checked")
    found, noise = _found(claim, planned, earlier, regime)
    if found is None or not kind.planned(found):
        return Sight(claim, None, None, noise)
    plan = kind.seeds_needed(claim, found, alpha).get(SUPPORTED)
    return Sight(claim, kind.detectable(claim, found, alpha), plan, noise)


def _found(
    claim: Claim, planned: Evidence, earlier: Evidence, regime: Noise | None
) -> tuple[Any, str]:
    """What the rule of a claim plans with, and where its noise is from."""
    if claim["metric"] in UNSTABLE:
        first, second = (len(side.every) for side in sides(claim, planned)[:2])
        return Rates(0, first, 0, second), "counted"
    return _estimate(claim, planned, earlier, regime)


def _estimate(
    claim: Claim, planned: Evidence, earlier: Evidence, regime: Noise | None
) -> tuple[Estimate | None, str]:
    arms = sides(claim, planned)
    pairs = min((len(side.runs) for side in arms), default=0)
    if pairs < 2:
        return None, "a single seed has no spread"
    seen = _earlier(claim, earlier, len(arms))
    if seen is not None:
        noise = f"{seen.pairs} earlier pairs of these arms"
        return replace(seen, effect=0.0, pairs=pairs, looks=ONCE), noise
    if regime is None:
        return None, "no earlier runs of this regime"
    # of as many runs as the contrast has, each as noisy as one of two arms
    scale = sum(side.weight**2 / len(next(iter(side.runs.values()))) for side in arms) / 2
    variances = scale * regime.difference**2, scale * regime.sentence**2
    return (
        Estimate(0.0, pairs, regime.sentences, *variances, skewness=0.0),
        f"{regime.runs} earlier runs of this regime",
    )


def _earlier(claim: Claim, earlier: Evidence, arms: int) -> Estimate | None:
    """The noise of the same contrast in earlier runs, where all of its arms have run twice."""
    try:
        complete = len(sides(claim, earlier)) == arms
        found = contrast(claim, earlier).estimate
    except UserError:  # too few of its levels, or a record that disagrees with its statistics
        return None
    return found if complete and has_spread(found) else None
