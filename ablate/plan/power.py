"""Compute the power of a study's claims for several numbers of seeds, before any run.

The variation between runs comes from an earlier sweep of the same arms in the same setting. Without
such a sweep, all arms are assumed to vary alike, and effects are in standard deviations: of the
difference that a claim is about, with one run of each arm. With several claims, each claim is
planned at alpha divided by their number, the first step of Holm's correction, so the estimate is
conservative.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ablate.config.screen import BASELINE, FACTOR
from ablate.config.study import Claim
from ablate.errors import UserError
from ablate.evidence.folder import Evidence
from ablate.evidence.outcome import UNSTABLE
from ablate.metric import metric_of
from ablate.phrases import claim_name, counted
from ablate.plan.plan import Plan, aligned
from ablate.stats.corrections import ONCE
from ablate.stats.estimate import Estimate
from ablate.stats.moderated import FEWEST_ARMS
from ablate.stats.power import PlannedNoise
from ablate.stats.rates import Rates
from ablate.verdict.contrast import contrast
from ablate.verdict.kinds import kind_of
from ablate.verdict.sides import sides
from ablate.verdict.types import SUPPORTED

SEEDS = (4, 8, 16, 32)  # numbers of seeds, beside the planned one, for which effects are shown
UNKNOWN = Estimate(0.0, 2, 0, 1.0, 0.0, skewness=0.0)  # one standard deviation of the difference
STANDARD = "standard deviations"
HUGE = 4  # standard deviations; hardly any change of a model has so large an effect
RATE = "proportion of failed runs"


@dataclass(frozen=True)
class Sensitivity:
    """The effects that a planned sweep can detect for a claim.

    Args:
        claim: the claim.
        detectable: for each number of seeds, the smallest true effect that is detected with power
            0.8 (for equivalence and non-inferiority: the smallest margin); None if there is none.
        unit: the unit of these effects.
        seeds_needed: number of seeds with which the claim is supported with power 0.8, if the
            effect that it names is true; None if this is unknown, or if no number is enough.
    """

    claim: Claim
    detectable: dict[int, float | None]
    unit: str
    seeds_needed: int | None


def sensitivities_of(plan: Plan) -> list[Sensitivity]:
    """Return the effects that a planned sweep can detect, for each of its claims.

    Exact claims have no power. The list is empty if the sweep has no study, or runs only a part of
    one, which has no verdict.
    """
    study = plan.sweep.study
    if study is None or plan.sweep.is_part or study.get("design"):
        return []
    claims = [claim for claim in study["claims"] if claim["kind"] != "exact"]
    return [_sensitivity(claim, plan, claim["alpha"] / len(claims)) for claim in claims]


def _sensitivity(claim: Claim, plan: Plan, alpha: float) -> Sensitivity:
    kind, seeds = kind_of(claim), sorted({*SEEDS, plan.seeds} - {1})
    if claim["metric"] in UNSTABLE:
        rates = {n: _rates(claim, plan, n) for n in seeds}
        detectable = {n: kind.detectable(claim, rates[n], alpha) for n in seeds}
        needed = kind.seeds_needed(claim, rates[seeds[0]], alpha).get(SUPPORTED)
        return Sensitivity(claim, detectable, RATE, needed["seeds"] if needed else None)
    noise = (measured := _measured(claim, plan)) or _assumed_noise(claim, plan)
    detectable = {n: kind.detectable(claim, noise, alpha, n) for n in seeds}
    if measured is None:
        return Sensitivity(claim, detectable, STANDARD, None)
    needed = kind.seeds_needed(claim, measured, alpha).get(SUPPORTED)
    unit = metric_of(claim["metric"]).axis
    return Sensitivity(claim, detectable, unit, needed["seeds"] if needed else None)


def _assumed_noise(claim: Claim, plan: Plan) -> Estimate | PlannedNoise:
    """Return the noise to assume for a claim without an earlier sweep."""
    study, arms = plan.sweep.study, len(plan.stages[1])
    if study is None or arms < FEWEST_ARMS:
        return UNKNOWN
    further = study.get("baseline_seeds") if claim["baseline"] == {FACTOR: BASELINE} else None
    return PlannedNoise(arms, (further or study["seeds"]) / study["seeds"])


def _rates(claim: Claim, plan: Plan, seeds: int) -> Rates:
    """Return the numbers of runs on both sides of a claim about failed runs, without a failure."""
    run = {"status": "finished", "metrics": {}, "identity": "", "seed": 0}
    runs = [{**run, "levels": arm.levels} for arm in plan.stages[1]]
    planned = Evidence.synthetic(plan.sweep.study or {}, runs)
    first, second = (seeds * len(side.all_runs) for side in sides(claim, planned)[:2])
    return Rates(0, first, 0, second)


def _measured(claim: Claim, plan: Plan) -> Estimate | None:
    """Return the effect of a claim in an earlier sweep, from which a plan takes the variation
    between runs.

    Runs that failed to learn are left out, as in a verdict. The result is None if an arm has no
    earlier runs, or if the earlier runs cannot be compared or show no variation.
    """
    if plan.earlier is None:
        return None
    try:
        estimate = contrast(claim, plan.earlier).among_learned().estimate
    except UserError:  # some levels have not run, or a record disagrees with its statistics
        return None
    return replace(estimate, effect=0.0, looks=ONCE) if estimate.error > 0 else None


def power_table(sensitivities: Sequence[Sensitivity]) -> list[str]:
    """Return the lines of the power table: for each claim, the smallest effect that each number of
    seeds detects.

    The last column is the number of seeds that the claim needs, if it is known. Claims with equal
    values share a line.
    """
    alike: dict[tuple[str, ...], list[str]] = {}
    for each in sensitivities:
        cells = ["-" if effect is None else f"{effect:.3g}" for effect in each.detectable.values()]
        cells.append(str(each.seeds_needed or "-"))
        alike.setdefault((each.claim["kind"], each.unit, *cells), []).append(claim_name(each.claim))
    numbers = map(str, sensitivities[0].detectable)
    rows: list[tuple[str, ...]] = [("claim", "kind", "unit", *numbers, "needed")]
    for values, (first, *more) in alike.items():
        rows.append((f"{first} and {len(more)} more" if more else first, *values))
    lines = aligned(rows)
    if any(each.unit == STANDARD for each in sensitivities):
        lines.append(
            "How much runs vary is not known from a sweep of this name and setting in which all "
            "arms learned, so the unit is the standard deviation of the difference for one seed."
        )
    return lines


def too_few(seeds: int, sensitivities: Sequence[Sensitivity]) -> list[str]:
    """Return a warning if so few seeds could show only an effect that no experiment has."""
    effects = [each.detectable.get(seeds) for each in sensitivities if each.unit == STANDARD]
    if not effects or any(effect is not None and effect < HUGE for effect in effects):
        return []
    return [
        f"{counted(seeds, 'seed')} will probably decide nothing: even a difference of {HUGE} "
        "standard deviations would stay undecided. Plan more seeds before you train."
    ]
