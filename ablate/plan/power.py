"""Compute the power of a study's claims for a number of seeds, before any run.

The noise comes from earlier pairs of the same arms, or else from other runs in the same setting.
With several claims, each claim is planned at alpha divided by their number, the first step of
Holm's correction, so the estimate is conservative.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ablate.errors import UserError
from ablate.evidence.folder import Evidence
from ablate.evidence.outcome import UNSTABLE
from ablate.evidence.types import Claim, Levels
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
from ablate.verdict.sides import Side, sides


@dataclass(frozen=True)
class Sensitivity:
    """The smallest effect that a planned sweep can show for a claim, and the number of seeds that
    the claim needs.

    `least` is the smallest true effect that is detected with power 0.8 (for equivalence and
    non-inferiority: the smallest margin); None if the noise is unknown. `plan` has the number of
    seeds that decide the claim with power 0.8; None if the claim has no planned effect.
    """

    claim: Claim
    least: float | None
    plan: Plan | None
    noise: str  # source of the variation
    one_way: str = ""  # why the claim can have only one outcome, judging by earlier runs

    @property
    def is_unknown(self) -> bool:
        """Whether neither the smallest effect nor the number of seeds is known."""
        return self.least is None and self.plan is None


def sensitivities(
    arms: Sequence[Levels], seeds: int, earlier: Evidence, regime: Mapping[str, Noise | None]
) -> list[Sensitivity]:
    """Return the sensitivity of every claim of a study.

    Args:
        arms: options that distinguish each planned arm.
        seeds: number of seeds of every arm.
        earlier: earlier runs of the same arms, with the study.
        regime: noise of each metric in this setting; None if unknown.
    """
    claims = earlier.study["claims"]
    uncertain = max(1, sum(claim["kind"] != "exact" for claim in claims))
    empty = {"status": "finished", "metrics": {}, "identity": ""}
    runs = [{**empty, "levels": levels, "seed": seed} for levels in arms for seed in range(seeds)]
    planned = Evidence.made_up(earlier.study, runs)
    return [
        Sensitivity(
            claim,
            *_sensitivity(claim, planned, earlier, regime.get(claim["metric"]), uncertain),
            reason(claim, earlier),
        )
        for claim in claims
    ]


def reason(claim: Claim, earlier: Evidence) -> str:
    """Return why a claim can have only one outcome, judging by earlier runs; "" if several outcomes
    are possible.
    """
    if claim["kind"] == "exact" or claim["metric"] in UNSTABLE:
        return ""
    try:
        arms = sides(claim, earlier)
        return one_way(claim, arms, earlier) if all(side.runs for side in arms) else ""
    except UserError:  # some levels that the claim compares have not run
        return ""


def _sensitivity(
    claim: Claim, planned: Evidence, earlier: Evidence, regime: Noise | None, claims: int
) -> tuple[float | None, Plan | None, str]:
    """Return the fields `least`, `plan` and `noise` of a sensitivity.

    Args:
        claim: the claim.
        planned: the planned runs, without results.
        earlier: earlier runs of the same arms.
        regime: noise of the metric in this setting; None if unknown.
        claims: number of claims that share alpha.
    """
    if claim["kind"] == "exact":
        return None, Plan(0.0, 1), "every case is checked"
    kind, alpha, arms = kind_of(claim), claim["alpha"] / claims, sides(claim, planned)
    seeds = min((len(side.runs) for side in arms), default=0)
    estimate, noise = _estimate(claim, arms, seeds, earlier, regime)
    if estimate is None or not kind.planned(estimate):
        return None, None, noise
    plan = kind.seeds_needed(claim, estimate, alpha).get(SUPPORTED)
    return kind.detectable(claim, estimate, alpha, seeds), plan, noise


def _estimate(
    claim: Claim, arms: Sequence[Side], seeds: int, earlier: Evidence, regime: Noise | None
) -> tuple[Any, str]:
    """Return an estimate for planning the claim, and the source of the noise.

    The estimate has the run-to-run variation that the planned runs are expected to have. If this
    variation comes from earlier runs, the number of pairs is theirs, which says how well the
    skewness is known. For a claim about failed runs, it compares proportions. If the variation is
    unknown, return None and the reason.
    """
    if claim["metric"] in UNSTABLE:
        first, second = (len(side.every) for side in arms[:2])
        return Rates(0, first, 0, second), "if no run of the other arm fails"
    if seeds < 2:
        return None, "a single seed does not show how much runs vary"
    seen = _earlier(claim, earlier, len(arms))
    if seen is not None:
        noise = f"by {seen.pairs} earlier pairs of these arms"
        return replace(seen, effect=0.0, looks=ONCE), noise
    if regime is None:
        return None, "no earlier runs with this corpus, model and budget tell how much runs vary"
    if claim["kind"] == "trend" and claim["scale"] == "log_log":
        return None, "earlier runs of other arms do not tell how much the logarithm varies"
    # each arm of the contrast is assumed to vary as much as one of two arms
    scale = sum(side.weight**2 / len(next(iter(side.runs.values()))) for side in arms) / 2
    variances = scale * regime.difference**2, scale * regime.sentence**2
    return (
        Estimate(0.0, seeds, regime.sentences, *variances, skewness=0.0),
        f"by {regime.runs} earlier runs with this corpus, model and budget",
    )


def _earlier(claim: Claim, earlier: Evidence, arms: int) -> Estimate | None:
    """Return the effect of the claim in earlier runs, from which the plan takes the run-to-run
    variation.

    Runs that failed to learn are left out, as in a verdict. Return None if an arm has no earlier
    runs, or if the earlier runs cannot be compared or show no variation.
    """
    try:
        paired = contrast(claim, earlier)
        estimate = paired.among_learned().estimate
    except UserError:  # some levels have not run, or a record disagrees with its statistics
        return None
    return estimate if len(paired.sides) == arms and has_spread(estimate) else None
